import { choose, mix } from '../base/sentences.js';

/**
 * The first number below `end` for which a condition holds, or `end`. If the condition holds for a number, it must hold for all later ones.
 */
export function firstWhere(end: number, holds: (number: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A step of a webset's life: an event, and the number of its object within its kind. */
export interface Step {
  readonly type: string;
  readonly n: number;
}

const items = (type: 'webset.item.created' | 'webset.item.enriched', from: number, count: number): Step[] =>
  Array.from({ length: count }, (_, index) => ({ type, n: from + index }));
const ofObject = (n: number, ...types: readonly string[]): Step[] => types.map((type) => ({ type, n }));

/** The steps in the life of every webset. They include every type of event. */
export const steps: readonly Step[] = [
  ...ofObject(0, 'webset.created', 'import.created', 'webset.search.created', 'import.completed'),
  ...items('webset.item.created', 0, 3),
  ...ofObject(0, 'webset.search.updated'),
  ...items('webset.item.created', 3, 5),
  ...items('webset.item.enriched', 0, 4),
  ...ofObject(0, 'webset.search.completed'),
  ...items('webset.item.enriched', 4, 4),
  ...ofObject(0, 'webset.idle', 'monitor.created', 'monitor.run.created'),
  ...items('webset.item.created', 8, 3),
  ...items('webset.item.enriched', 8, 3),
  ...ofObject(0, 'monitor.run.completed', 'monitor.updated', 'webset.export.created', 'webset.export.completed'),
  ...ofObject(1, 'webset.search.created'),
  ...ofObject(0, 'webset.paused'),
  ...ofObject(1, 'webset.search.canceled'),
  ...ofObject(0, 'monitor.deleted', 'webset.deleted'),
];

/** The step with the event of this type for the `n`th object of its kind, by default for the first one. */
export function stepOf(type: string, n?: number): number {
  const index = steps.findIndex((step) => step.type === type && (n === undefined || step.n === n));
  if (index < 0) throw new Error(`no step ${type} ${n}`);
  return index;
}

/**
 * Number of websets with different contents. Other websets differ from these only in ids, URLs and times. This number is a multiple of
 * every period in the contents.
 */
export const DESIGNS = 210;

/** Number of the first triggered webset and event. This number is far above the numbers of any history. */
export const TRIGGERED = 2 ** 40;

export const ITEMS = steps.filter(({ type }) => type === 'webset.item.created').length;

/** Number of websets that live at the same time. */
const ABREAST = 8;

/** Maps each event of the history to a step of a webset. Several websets exist at the same time, so their events alternate. */
export class Stories {
  readonly #abreast: number;

  /** `count`: number of events of the history. A short history has few websets, so that every type of event occurs. */
  constructor(count: number) {
    this.#abreast = Math.min(ABREAST, Math.max(1, Math.floor(count / steps.length)));
  }

  locate(event: number): { readonly story: number; readonly step: number } {
    const block = Math.floor(event / (this.#abreast * steps.length));
    const rest = event - block * this.#abreast * steps.length;
    return { story: block * this.#abreast + (rest % this.#abreast), step: Math.floor(rest / this.#abreast) };
  }

  indexOf(story: number, step: number): number {
    const block = Math.floor(story / this.#abreast);
    return block * this.#abreast * steps.length + step * this.#abreast + (story % this.#abreast);
  }

  /** Number of websets that occur in the first `events` events. */
  countBefore(events: number): number {
    return firstWhere(events, (story) => this.indexOf(story, 0) >= events);
  }

  /** The last step of a webset in the first `events` events; -1 for none. */
  stepBefore(story: number, events: number): number {
    return firstWhere(steps.length, (step) => this.indexOf(story, step) >= events) - 1;
  }
}

const kinds = [
  'webset',
  'wsearch',
  'import',
  'wenrich',
  'witem',
  'wmonitor',
  'wrun',
  'wexport',
  'wpage',
  'event',
] as const;
type Kind = (typeof kinds)[number];

/** An id that looks random but encodes its object: the number of the webset (or event), and its number within its kind. */
export function idOf(kind: Kind, seed: number, number: number, n?: number): string {
  const hash = mix(mix(number, 200 + kinds.indexOf(kind)), seed + (n ?? 0));
  const id = `${kind}_${hash.toString(16).padStart(8, '0')}${number.toString(36)}`;
  return n === undefined ? id : `${id}-${n}`;
}

/** The number that an id encodes; null if {@link idOf} did not make the id. */
export function numberOf(kind: Kind, seed: number, id: string): number | null {
  const number = Number.parseInt(/^[a-z]+_[0-9a-f]{8}([0-9a-z]{1,9})$/.exec(id)?.[1] ?? '', 36);
  return idOf(kind, seed, number) === id ? number : null;
}

const subjects = ['ceramics', 'tide power', 'night trains', 'bookbinding', 'seed banks', 'radio parts', 'map making'];
const cities = ['Lisbon', 'Zürich', 'Kraków', 'São Paulo', '東京', 'Aarhus', 'Montréal'];
const entities = ['company', 'person', 'article', 'research_paper', 'custom'] as const;

/** Values that do not change during a webset's life. */
export type Theme = ReturnType<typeof themesOf>[number];

/** The themes of all designs, made once. */
export function themesOf(seed: number) {
  return Array.from({ length: DESIGNS }, (_, design) => {
    const hash = mix(design, seed + 7);
    const type = entities[design % entities.length] as (typeof entities)[number];
    const [subject, city] = [choose(subjects, hash, 211), choose(cities, hash, 212)];
    const entity = type === 'custom' ? { type, description: `anything about ${subject}` } : { type };
    return { hash, entity, subject, city, query: `${type.replace('_', ' ')} about ${subject} in ${city}` };
  });
}

/** A webset at a step of its life. */
export interface Scene extends Theme {
  readonly story: number;
  readonly step: number;
  /** The id of an object of this webset; `n`: its number within its kind. */
  readonly id: (kind: Kind, n?: number) => string;
  readonly iso: (step: number) => string;
}
