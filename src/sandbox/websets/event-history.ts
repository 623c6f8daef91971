import { z } from 'zod';
import { eventTypes } from '../../core/events/payloads.js';
import { millisOf, type Settings } from '../base/options.js';
import { fraction, mix } from '../base/sentences.js';
import type { World } from '../world.js';
import {
  DESIGNS,
  firstWhere,
  idOf,
  numberOf,
  type Scene,
  Stories,
  stepOf,
  type Theme,
  TRIGGERED,
  themesOf,
} from './story.js';
import { eventData, typeOf } from './webset.js';

const thirtyDaysMs = 30 * 86_400_000;

/** Events are first evenly spread from `from` to `to`. New events arrive from `start` on. Unix ms. */
interface Times {
  readonly from: number;
  readonly to: number;
  readonly start: number;
}

/** A triggered event, which belongs to a webset of its own. `rank`: number of events of the history before it. */
type Triggered = z.infer<typeof triggeredSchema> & { readonly rank: number };
const triggeredSchema = z.object({ type: z.enum(eventTypes), at: z.number() });

/**
 * The history of webset events. It may have any number of events and stores none: each event follows from its number, and numbers grow with
 * time. Only triggered events are stored; their numbers begin at {@link TRIGGERED}. Events of both kinds have positions in one list, in the order of their times. New events do not change earlier positions.
 */
export class EventHistory {
  readonly #world: Pick<World, 'options' | 'ledger' | 'now'>;
  readonly options: Settings['events'];
  readonly seed: number;
  readonly #stories: Stories;
  readonly #themes: readonly Theme[];
  readonly #keepStart: (at: number) => void;
  readonly #keep: (event: z.infer<typeof triggeredSchema>) => void;
  #triggered: Triggered[] = [];
  #times: Times | null = null;

  constructor(world: Pick<World, 'options' | 'ledger' | 'now'>) {
    this.#world = world;
    this.options = world.options.events;
    this.seed = world.options.seed;
    this.#themes = themesOf(this.seed);
    this.#stories = new Stories(this.options.count);
    this.#keepStart = world.ledger.facts('events-start', z.number(), (start) => {
      const to = this.options.to === undefined ? start : Date.parse(this.options.to);
      const from = this.options.from === undefined ? to - thirtyDaysMs : Date.parse(this.options.from);
      this.#times = { from, to, start: Math.max(to, start) };
    });
    this.#keep = world.ledger.facts('event', triggeredSchema, (event) => {
      this.#triggered.push({ ...event, rank: this.#countAt(event.at) });
    });
  }

  /** Returns the times of the history. Sets them first, unless an earlier process has set them already. */
  begin(): Times {
    if (this.#times === null) this.#keepStart(this.#world.now());
    return this.#times as unknown as Times;
  }

  get triggered(): number {
    return this.#triggered.length;
  }

  /** Number of positions so far. The events of some of them are late and not visible yet. */
  get length(): number {
    return this.#count + this.triggered;
  }

  get #count(): number {
    return this.#countAt(this.#world.now());
  }

  at(position: number): number {
    const before = firstWhere(this.triggered, (n) => (this.#triggered[n] as Triggered).rank + n >= position);
    const isTriggered = (this.#triggered[before]?.rank ?? Number.NaN) + before === position;
    return isTriggered ? TRIGGERED + before : position - before;
  }

  /** Time of an event that exists, in Unix ms. */
  timeOf(event: number): number {
    if (event >= TRIGGERED) return (this.#triggered[event - TRIGGERED] as Triggered).at;
    const { count, sameTimestamp: same, arrivingPerSecond: rate } = this.options;
    const { from, to, start } = this.begin();
    if (event < count) return from + Math.floor(((to - from) * (Math.floor(event / same) * same)) / count);
    const group = Math.floor((event - count) / same) + 1;
    return start + Math.ceil((group * same * 1000) / rate);
  }

  /** Whether an event is visible. A late event appears only some time after its own time. */
  isSeen(event: number): boolean {
    const { late, lateMs } = this.options;
    if (late === 0 || event >= TRIGGERED) return true;
    const hash = mix(event, this.seed);
    const seenAt = this.timeOf(event) + millisOf(lateMs, fraction(hash, 162));
    return fraction(hash, 161) >= late || seenAt <= this.#world.now();
  }

  typeOf(event: number): string {
    const { story, step } = this.#locate(event);
    return typeOf(story, step);
  }

  record(event: number) {
    const { story, step } = this.#locate(event);
    const scene = this.sceneAt(story, step);
    return {
      id: idOf('event', this.seed, event),
      object: 'event',
      type: typeOf(story, step),
      data: eventData(scene),
      createdAt: scene.iso(step),
    };
  }

  /** The number of a visible event, by its id; null if there is none. */
  find(id: string): number | null {
    const event = numberOf('event', this.seed, id);
    if (event === null) return null;
    const exists = event < TRIGGERED ? event < this.#count : event - TRIGGERED < this.triggered;
    return exists && this.isSeen(event) ? event : null;
  }

  /** A webset at a step, by default at its last step so far. */
  sceneAt(story: number, step = this.stepOf(story)): Scene {
    const eventOf = (step: number) => (story < TRIGGERED ? this.#stories.indexOf(story, step) : story);
    const iso = (step: number) => new Date(this.timeOf(eventOf(step))).toISOString();
    const id: Scene['id'] = (kind, n) => idOf(kind, this.seed, story, n);
    return { ...(this.#themes[story % DESIGNS] as Theme), story, step, id, iso };
  }

  /** The last step of a webset so far; -1 if it has not begun. */
  stepOf(story: number): number {
    if (story < TRIGGERED) return this.#stories.stepBefore(story, this.#count);
    const triggered = this.#triggered[story - TRIGGERED];
    return triggered ? stepOf(triggered.type) : -1;
  }

  /** Numbers of the websets that have begun, the newest first. */
  *newestWebsets(): Iterable<number> {
    for (let index = this.triggered - 1; index >= 0; index -= 1) yield TRIGGERED + index;
    for (let story = this.#stories.countBefore(this.#count) - 1; story >= 0; story -= 1) yield story;
  }

  trigger(type: string): string {
    this.#keep({ type, at: this.#world.now() });
    return idOf('event', this.seed, TRIGGERED + this.triggered - 1);
  }

  reset(): void {
    this.#triggered = [];
    this.#times = null;
    this.begin();
  }

  #countAt(time: number): number {
    const { count, sameTimestamp: same, arrivingPerSecond: rate } = this.options;
    const arrived = Math.max(0, Math.floor(((time - this.begin().start) * rate) / 1000) + same);
    return firstWhere(rate > 0 ? count + arrived : count, (event) => this.timeOf(event) > time);
  }

  #locate(event: number): { readonly story: number; readonly step: number } {
    if (event < TRIGGERED) return this.#stories.locate(event);
    return { story: event, step: stepOf((this.#triggered[event - TRIGGERED] as Triggered).type) };
  }
}
