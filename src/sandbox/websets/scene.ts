import { choose, mix } from '../base/hash.js';

/** A webset at a step of its life. */
export interface Scene {
  /** Number of the webset. */
  readonly story: number;
  readonly step: number;
  readonly hash: number;
  /** Time of a step plus this number of milliseconds, as an ISO text. */
  readonly iso: (step: number, laterMs?: number) => string;
}

const salts = {
  webset: 200,
  wsearch: 201,
  import: 202,
  wenrich: 203,
  witem: 204,
  wmonitor: 205,
  wrun: 206,
  wexport: 207,
  wpage: 208,
  event: 209,
};

/** Kinds of objects with an id. */
export type Kind = keyof typeof salts;

/**
 * An id that looks random but encodes its object: the number of the webset (or event), and the object's number within its kind.
 */
export function idOf(kind: Kind, seed: number, number: number, n?: number): string {
  const digits = mix(mix(number, salts[kind]), seed + (n ?? 0))
    .toString(16)
    .padStart(8, '0');
  return n === undefined ? `${kind}_${digits}${number.toString(36)}` : `${kind}_${digits}${number.toString(36)}-${n}`;
}

/** The number that an id encodes; null if {@link idOf} did not make the id. */
export function numberOf(kind: Kind, seed: number, id: string): number | null {
  const found = /^([a-z]+)_[0-9a-f]{8}([0-9a-z]{1,9})$/.exec(id);
  const number = found?.[1] === kind ? Number.parseInt(found[2] as string, 36) : null;
  return number !== null && idOf(kind, seed, number) === id ? number : null;
}

const subjects = ['ceramics', 'tide power', 'night trains', 'bookbinding', 'seed banks', 'radio parts', 'map making'];
const cities = ['Lisbon', 'Zürich', 'Kraków', 'São Paulo', '東京', 'Aarhus', 'Montréal'];
const entities = ['company', 'person', 'article', 'research_paper', 'custom'] as const;

/** Values that do not change during a webset's life. */
export interface Theme {
  readonly entity: { readonly type: string; readonly description?: string };
  readonly subject: string;
  readonly city: string;
  readonly query: string;
}

export function themeOf({ story, hash }: Scene): Theme {
  const type = entities[story % entities.length] as string;
  const subject = choose(subjects, hash, 211);
  const city = choose(cities, hash, 212);
  const entity = type === 'custom' ? { type, description: `anything about ${subject}` } : { type };
  return { entity, subject, city, query: `${type.replace('_', ' ')} about ${subject} in ${city}` };
}
