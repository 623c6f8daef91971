import { z } from 'zod';
import { millisOf, type Settings } from '../base/options.js';
import { fraction, mix } from '../base/sentences.js';
import type { World } from '../world.js';
import {
  DESIGNS,
  type EventType,
  eventTypes,
  idOf,
  numberOf,
  type Scene,
  Stories,
  stepOf,
  TRIGGERED,
} from './story.js';
import { eventData, typeOf } from './webset.js';

/** Settings of the times of a history; times are milliseconds of the wall clock. */
type TimelineOptions = Pick<Settings['events'], 'count' | 'sameTimestamp' | 'arrivingPerSecond'> & {
  readonly from: number;
  readonly to: number;
  /** New events arrive from this time on. */
  readonly start: number;
};

/**
 * Time of each event of the history: first evenly spread from `from` to `to`, then as new events arrive. An event with a higher
 * number never has an earlier time.
 */
class Timeline {
  readonly #options: TimelineOptions;

  constructor(options: TimelineOptions) {
    this.#options = options;
  }

  timeOf(event: number): number {
    const { count, from, to, sameTimestamp: same, arrivingPerSecond: rate } = this.#options;
    if (event < count) return from + Math.floor(((to - from) * (Math.floor(event / same) * same)) / count);
    const group = Math.floor((event - count) / same) + 1;
    return this.#arriveFrom + Math.ceil((group * same * 1000) / rate);
  }

  /** Number of events up to `now`, inclusive. */
  countAt(now: number): number {
    const { count, arrivingPerSecond: rate, sameTimestamp: same } = this.#options;
    const arrived = now < this.#arriveFrom ? 0 : Math.floor(((now - this.#arriveFrom) * rate) / 1000) + same;
    return this.#first((event) => this.timeOf(event) > now, rate > 0 ? count + arrived : count);
  }

  /** The first event at or after a time, among the first `end` events. */
  firstAt(time: number, end: number): number {
    return this.#first((event) => this.timeOf(event) >= time, end);
  }

  get #arriveFrom(): number {
    return Math.max(this.#options.to, this.#options.start);
  }

  /**
   * The first event below `end` for which a condition holds. If the condition holds for an event, it must hold for all later
   * ones.
   */
  #first(holds: (event: number) => boolean, end: number): number {
    let [low, high] = [0, end];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (holds(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

const thirtyDaysMs = 30 * 86_400_000;

/** A triggered event. It belongs to a webset of its own. */
const triggeredSchema = z.object({ type: z.enum(eventTypes), at: z.number() });
type Triggered = z.infer<typeof triggeredSchema>;

/**
 * The history of webset events. It may have any number of events and stores none: each event follows from its number, and
 * numbers grow with time. Only triggered events are stored; their numbers begin at {@link TRIGGERED}.
 */
export class EventHistory {
  readonly #world: World;
  readonly stories: Stories;
  readonly #triggered: Triggered[] = [];
  readonly #keepStart: (at: number) => void;
  readonly #keep: (event: Triggered) => void;
  #start: number | null = null;
  #timeline: Timeline | null = null;

  constructor(world: World) {
    this.#world = world;
    this.stories = new Stories(this.options.count);
    this.#keepStart = world.ledger.facts('events-start', z.number(), (at) => {
      this.#start = at;
    });
    this.#keep = world.ledger.facts('event', triggeredSchema, (event) => void this.#triggered.push(event));
  }

  get options(): Settings['events'] {
    return this.#world.options.events;
  }

  get seed(): number {
    return this.#world.options.seed;
  }

  get now(): number {
    return this.#world.now();
  }

  /** The times of the history. The first call sets them, unless an earlier process has set them already. */
  get timeline(): Timeline {
    if (this.#timeline) return this.#timeline;
    const { options } = this;
    if (this.#start === null) this.#keepStart(this.now);
    const start = this.#start ?? this.now;
    const to = options.to === undefined ? start : Date.parse(options.to);
    const from = options.from === undefined ? to - thirtyDaysMs : Date.parse(options.from);
    this.#timeline = new Timeline({ ...options, from, to, start });
    return this.#timeline;
  }

  /** Number of events so far. It includes late events that are not visible yet, but no triggered events. */
  get length(): number {
    return this.timeline.countAt(this.now);
  }

  /** Triggered events in the order of their times, each with its number. */
  get triggered(): readonly { readonly event: number; readonly at: number }[] {
    return this.#triggered.map(({ at }, index) => ({ event: TRIGGERED + index, at }));
  }

  /** Time of an event; null if there is no such number. */
  timeOf(event: number): number | null {
    if (event >= TRIGGERED) return this.#triggered[event - TRIGGERED]?.at ?? null;
    return event < this.length ? this.timeline.timeOf(event) : null;
  }

  /** Whether an event is visible. A late event appears only some time after its own time. */
  isSeen(event: number, at: number, now: number): boolean {
    const { late, lateMs } = this.options;
    if (late === 0 || event >= TRIGGERED) return true;
    const hash = mix(event, this.seed);
    return fraction(hash, 161) >= late || at + millisOf(lateMs, fraction(hash, 162)) <= now;
  }

  typeOf(event: number): EventType {
    const { story, step } = this.#locate(event);
    return typeOf(story, step);
  }

  /** The event as the service returns it. */
  record(event: number): Record<string, unknown> {
    const { story, step } = this.#locate(event);
    const scene = this.sceneAt(story, step);
    return {
      id: idOf('event', this.seed, event),
      object: 'event',
      type: typeOf(story, step),
      data: eventData(scene, this.seed),
      createdAt: scene.iso(step),
    };
  }

  /** The number of a visible event, by its id; null if there is none. */
  find(id: string): number | null {
    const event = numberOf('event', this.seed, id);
    const at = event === null ? null : this.timeOf(event);
    return event !== null && at !== null && this.isSeen(event, at, this.now) ? event : null;
  }

  sceneAt(story: number, step: number): Scene {
    const triggered = story >= TRIGGERED ? (this.#triggered[story - TRIGGERED] as Triggered).at : null;
    const iso = (of: number, laterMs = 0) =>
      new Date((triggered ?? this.timeline.timeOf(this.stories.indexOf(story, of))) + laterMs).toISOString();
    return { story, step, hash: mix(story % DESIGNS, this.seed + 7), iso };
  }

  /** The last step of a webset so far; -1 if it has not begun. */
  stepOf(story: number): number {
    if (story < TRIGGERED) return this.stories.stepBefore(story, this.length);
    const triggered = this.#triggered[story - TRIGGERED];
    return triggered ? stepOf(triggered.type) : -1;
  }

  /** Numbers of the websets that have begun, the newest first. */
  *newestWebsets(): Iterable<number> {
    for (let index = this.#triggered.length - 1; index >= 0; index -= 1) yield TRIGGERED + index;
    for (let story = this.stories.countBefore(this.length) - 1; story >= 0; story -= 1) yield story;
  }

  /** Triggers an event now; returns its number. */
  trigger(type: EventType): number {
    this.#keep({ type, at: this.now });
    return TRIGGERED + this.#triggered.length - 1;
  }

  reset(): void {
    this.#triggered.length = 0;
    this.#timeline = null;
    this.#start = null;
  }

  #locate(event: number): { readonly story: number; readonly step: number } {
    if (event < TRIGGERED) return this.stories.locate(event);
    const { type } = this.#triggered[event - TRIGGERED] as Triggered;
    return { story: event, step: stepOf(type) };
  }
}
