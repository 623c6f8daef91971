import { searchPrice as listPrice, type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { toDollars } from '../../core/text/money.js';

/** Prices of the sandbox: the newest price table. */
export const prices = priceTables.at(-1) as PriceTable;

/** Kinds of content that are priced per page. */
export interface PageCounts {
  readonly text: number;
  readonly highlights: number;
  readonly summary: number;
}

/** Micro-dollars per page and kind of content. */
export const MICROS_PER_PAGE = Math.round(prices.contentsPage * 1e6);

/** Micro-dollars of a search, by type and number of results. The contents of the pages are not included. */
export function searchPrice(type: string, results: number): number {
  return listPrice(type, results, prices);
}

export function contentsPrice(pages: PageCounts): number {
  return (pages.text + pages.highlights + pages.summary) * MICROS_PER_PAGE;
}

/**
 * The cost of an answer, in dollars, in two forms: `search` and `contents` as in today's service, and `breakDown` as in the contract.
 * `total` is the sum in both. Kinds of content without cost are left out; the two sums in `breakDown` are sent even if they are zero.
 */
export function costDollars(
  search: { readonly micros: number; readonly deep: boolean } | null,
  pages: PageCounts,
): unknown {
  const contents = contentsPrice(pages);
  const short: Record<string, number> = {};
  const long: Record<string, number> = {};
  if (search) long[search.deep ? 'deepSearch' : 'neuralSearch'] = toDollars(search.micros);
  for (const [kind, name] of [
    ['text', 'contentText'],
    ['highlights', 'contentHighlight'],
    ['summary', 'contentSummary'],
  ] as const) {
    if (pages[kind] === 0) continue;
    short[kind] = toDollars(pages[kind] * MICROS_PER_PAGE);
    long[name] = toDollars(pages[kind] * MICROS_PER_PAGE);
  }
  return {
    total: toDollars(contents + (search?.micros ?? 0)),
    ...(search ? { search: { neural: toDollars(search.micros) } } : {}),
    ...(contents > 0 ? { contents: short } : {}),
    breakDown: [{ search: toDollars(search?.micros ?? 0), contents: toDollars(contents), breakdown: long }],
  };
}
