import { z } from 'zod';
import { toMicros } from '../../core/text/money.js';
import { fieldOf } from '../checks/field-of.js';

const text = z.string().nullish();

/**
 * A search result, and a page of contents (API reference: /search, /contents). Any field may be absent or null. Unnamed fields
 * such as `entities` and `extras` change with the service and are kept unchecked.
 */
export const searchResult = z.looseObject({
  id: text,
  url: text,
  title: text,
  publishedDate: text,
  author: text,
  image: text,
  favicon: text,
  score: z.number().nullish(),
  text,
  highlights: z.array(z.string()).nullish(),
  highlightScores: z.array(z.number()).nullish(),
  summary: text,
  subpages: z.array(z.looseObject({ id: text, url: text })).nullish(),
  entities: z.array(z.unknown()).nullish(),
  snapshotAt: text,
  extras: z.looseObject({ links: z.array(z.unknown()).nullish() }).nullish(),
});
export type SearchResult = z.infer<typeof searchResult>;

/**
 * The cost of a call in dollars (API reference: prices). The form of the details has changed several times, so only
 * `total` is used.
 */
export const costDollars = z.looseObject({
  total: z.number().nullish(),
  search: z.unknown().optional(),
  contents: z.unknown().optional(),
  summary: z.unknown().optional(),
  breakDown: z.unknown().optional(),
  perRequestPrices: z.unknown().optional(),
  perPagePrices: z.unknown().optional(),
});

/** Fields that the answers of search and contents share. */
export const commonAnswer = {
  requestId: text,
  results: z.array(searchResult),
  context: text,
  costDollars: costDollars.nullish(),
  searchTime: z.number().nullish(),
  /** Lists of `code`, `path` and `message`; of any form, so that an odd one does not make the answer odd. */
  warnings: z.unknown().optional(),
  notices: z.unknown().optional(),
};

/** The cost in an answer, in micro-dollars; null where it has none. */
export function costOf(answer: unknown): number | null {
  const cost = fieldOf(answer, 'costDollars');
  return toMicros(typeof cost === 'number' ? cost : fieldOf(cost, 'total'));
}

/** The cost in the text of an unusable answer, which may have an envelope around it; null where none can be read. */
export function costInBody(body: string | null): number | null {
  try {
    const value: unknown = JSON.parse(body ?? '');
    const parts = typeof value === 'object' && value !== null ? [value, ...Object.values(value)] : [];
    return parts.map(costOf).find((micros) => micros !== null) ?? null;
  } catch {
    return null;
  }
}

/** See `Endpoint.lacks`: an answer with results needs a list of them, which may be empty. */
export function lacksResults(answer: unknown): { readonly field: string; readonly message: string } | null {
  return Array.isArray(fieldOf(answer, 'results')) ? null : { field: 'results', message: 'expected a list' };
}

/** See `Endpoint.lacks`: a run without a status would be polled without end. */
export function lacksStatus(answer: unknown): { readonly field: string; readonly message: string } | null {
  return typeof fieldOf(answer, 'status') === 'string' ? null : { field: 'status', message: 'expected a text' };
}
