import { z } from 'zod';
import { fraction, mix } from '../base/sentences.js';
import { type EventOptions, millisOf } from '../base/state-options.js';
import type { RestoreFact, WriteFact } from '../ledger/log-file.js';
import {
  DESIGNS,
  type EventType,
  eventTypes,
  idOf,
  type Kind,
  numberOf,
  type Scene,
  Stories,
  stepOf,
  TRIGGERED,
} from './story.js';
import { eventData, typeOf } from './webset.js';

/** Settings of the times of a history; times are milliseconds of the wall clock. */
interface TimelineOptions {
  readonly count: number;
  readonly from: number;
  readonly to: number;
  readonly sameTimestamp: number;
  readonly arrivingPerSecond: number;
  /** New events arrive from this time on. */
  readonly start: number;
}

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

const factSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('events-start'), at: z.number() }),
  z.object({ kind: z.literal('event'), type: z.enum(eventTypes), at: z.number() }),
]);

/** A triggered event. It belongs to a webset of its own. */
interface Triggered {
  readonly type: EventType;
  readonly at: number;
}

export interface EventHistoryParts {
  readonly options: EventOptions;
  readonly seed: number;
  readonly write: WriteFact;
  readonly now: () => number;
}

/**
 * The history of webset events. It may have any number of events and stores none: each event follows from its number, and
 * numbers grow with time. Only triggered events are stored; their numbers begin at {@link TRIGGERED}.
 */
export class EventHistory {
  readonly #parts: EventHistoryParts;
  readonly stories: Stories;
  readonly #triggered: Triggered[] = [];
  readonly #texts: EventTexts;
  readonly #isoTexts = new Map<number, string>();
  #start: number | null = null;
  #timeline: Timeline | null = null;

  constructor(parts: EventHistoryParts) {
    this.#parts = parts;
    this.#texts = new EventTexts(parts.seed);
    this.stories = new Stories(parts.options.count);
  }

  get options(): EventOptions {
    return this.#parts.options;
  }

  get seed(): number {
    return this.#parts.seed;
  }

  get now(): number {
    return this.#parts.now();
  }

  /** The times of the history. The first call sets them, unless an earlier process has set them already. */
  get timeline(): Timeline {
    if (this.#timeline) return this.#timeline;
    const { options, write, now } = this.#parts;
    if (this.#start === null) {
      this.#start = now();
      write({ kind: 'events-start', at: this.#start });
    }
    const to = options.to === undefined ? this.#start : Date.parse(options.to);
    const from = options.from === undefined ? to - thirtyDaysMs : Date.parse(options.from);
    this.#timeline = new Timeline({ ...options, from, to, start: this.#start });
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

  /** The event as JSON, in ASCII. */
  text(event: number): string {
    const { story, step } = this.#locate(event);
    const scene = this.sceneAt(story, step);
    const head = `{"id":"${idOf('event', this.seed, event)}","object":"event","type":"${typeOf(story, step)}","data":`;
    return `${head}${this.#texts.dataOf(scene)},"createdAt":"${scene.iso(step)}"}`;
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
      this.#iso((triggered ?? this.timeline.timeOf(this.stories.indexOf(story, of))) + laterMs);
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
    const at = this.now;
    this.#parts.write({ kind: 'event', type, at });
    this.#triggered.push({ type, at });
    return TRIGGERED + this.#triggered.length - 1;
  }

  readonly restore: RestoreFact = (content) => {
    const fact = factSchema.safeParse(content).data;
    if (!fact) return false;
    if (fact.kind === 'events-start') this.#start = fact.at;
    else this.#triggered.push({ type: fact.type, at: fact.at });
    return true;
  };

  reset(): void {
    this.#triggered.length = 0;
    this.#timeline = null;
    this.#start = null;
  }

  /** Adjacent events often have the same time, and a lookup takes less time than formatting the time again. */
  #iso(time: number): string {
    const known = this.#isoTexts.get(time);
    if (known !== undefined) return known;
    if (this.#isoTexts.size > 10_000) this.#isoTexts.clear();
    const text = new Date(time).toISOString();
    this.#isoTexts.set(time, text);
    return text;
  }

  #locate(event: number): { readonly story: number; readonly step: number } {
    if (event < TRIGGERED) return this.stories.locate(event);
    const { type } = this.#triggered[event - TRIGGERED] as Triggered;
    return { story: event, step: stepOf(type) };
  }
}

/** A value that differs between two websets of one design: an id, a time, or the number in the external id. */
type Slot = (scene: Scene) => string;

/** The data of an event as pieces of text with a slot between each two pieces. */
interface Template {
  readonly pieces: readonly string[];
  readonly slots: readonly Slot[];
}

/**
 * The number of a webset that has this design and does not exist. The values of that webset occur nowhere else, so they can be found in a
 * text.
 */
const standIn = (design: number) => DESIGNS * 2 ** 31 + design;

/**
 * The data of events as JSON in ASCII. The data is made from templates, and a template is made when it is needed: serialising each event
 * would take most of the time of a page. The text equals the JSON of the event's record, except for escapes.
 */
class EventTexts {
  readonly #seed: number;
  readonly #templates = new Map<number, Template>();
  /** Ids of the latest websets. All events of one webset use the same few ids. */
  readonly #ids = new Map<number, string[]>();
  readonly #keys = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  dataOf(scene: Scene): string {
    const { pieces, slots } = this.#templateOf(scene);
    let text = pieces[0] as string;
    for (let index = 0; index < slots.length; index += 1) {
      text += (slots[index] as Slot)(scene) + (pieces[index + 1] as string);
    }
    return text;
  }

  #templateOf(scene: Scene): Template {
    const design = scene.story % DESIGNS;
    const key = design * 256 + scene.step;
    const known = this.#templates.get(key);
    if (known) return known;
    const story = standIn(design);
    const iso = (step: number, laterMs = 0) => `~${step}+${laterMs}~`;
    const text = asciiJson(eventData({ ...scene, story, iso }, this.#seed));
    const template = this.#split(text, story);
    this.#templates.set(key, template);
    return template;
  }

  #split(text: string, story: number): Template {
    const seed = this.#seed;
    const gap = new RegExp(
      `~(\\d+)\\+(\\d+)~|([a-z]+)_[0-9a-f]{8}${story.toString(36)}(?:-(\\d+))?|external-${story}`,
      'g',
    );
    const pieces: string[] = [];
    const slots: Slot[] = [];
    let from = 0;
    for (const found of text.matchAll(gap)) {
      pieces.push(text.slice(from, found.index));
      from = found.index + found[0].length;
      const [, step, laterMs, kind, n] = found;
      if (step !== undefined) slots.push((scene) => scene.iso(Number(step), Number(laterMs)));
      else if (kind === undefined) slots.push((scene) => `external-${scene.story}`);
      else {
        const index = n === undefined ? undefined : Number(n);
        const key = this.#keyOf(`${kind} ${n}`);
        slots.push(({ story }) => (this.#idsOf(story)[key] ??= idOf(kind as Kind, seed, story, index)));
      }
    }
    return { pieces: [...pieces, text.slice(from)], slots };
  }

  #keyOf(name: string): number {
    const key = this.#keys.get(name) ?? this.#keys.size;
    this.#keys.set(name, key);
    return key;
  }

  #idsOf(story: number): string[] {
    const known = this.#ids.get(story);
    if (known) return known;
    if (this.#ids.size > 256) this.#ids.clear();
    const ids: string[] = [];
    this.#ids.set(story, ids);
    return ids;
  }
}

/** JSON in ASCII only, which takes one byte a letter and is sent without re-coding. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
