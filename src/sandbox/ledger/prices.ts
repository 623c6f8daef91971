import { searchPrice as listPrice, type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { toDollars } from '../../core/text/money.js';

/** Prices of the sandbox: the newest price table. */
export const prices = priceTables.at(-1) as PriceTable;

/** Number of paid pages by kind of content. */
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

const names = { text: 'contentText', highlights: 'contentHighlight', summary: 'contentSummary' } as const;

/**
 * The cost of an answer, in dollars, in two forms: `search` and `contents` as in today's service, and `breakDown` as in the contract.
 * `total` is the sum in both. Kinds of content without cost are left out; the two sums in `breakDown` are sent even if they are zero.
 */
export function costDollars(
  search: { readonly micros: number; readonly deep: boolean } | null,
  pages: PageCounts,
): unknown {
  const contents = contentsPrice(pages);
  const kinds = (['text', 'highlights', 'summary'] as const).filter((kind) => pages[kind] > 0);
  const costs = (nameOf: (kind: keyof PageCounts) => string) =>
    Object.fromEntries(kinds.map((kind) => [nameOf(kind), toDollars(pages[kind] * MICROS_PER_PAGE)]));
  const ofSearch = toDollars(search?.micros ?? 0);
  const breakdown = {
    ...(search ? { [search.deep ? 'deepSearch' : 'neuralSearch']: ofSearch } : {}),
    ...costs((kind) => names[kind]),
  };
  return {
    total: toDollars(contents + (search?.micros ?? 0)),
    search: search ? { neural: ofSearch } : undefined,
    contents: contents > 0 ? costs((kind) => kind) : undefined,
    breakDown: [{ search: ofSearch, contents: toDollars(contents), breakdown }],
  };
}
