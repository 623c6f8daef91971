import { searchPrice as listPrice, type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { contentTypes } from '../../core/request-values.js';
import { priceMicros, toDollars } from '../../core/text/money.js';

/** Prices of the sandbox: the newest price table. */
export const prices = priceTables.at(-1) as PriceTable;

/** Number of paid pages by kind of content. */
export type PageCounts = PriceTable['searchPage'];

/** Micro-dollars per page and kind of content. */
export const MICROS_PER_PAGE = priceMicros(prices.contentsPage);

/** Micro-dollars of a search, by type and number of results. The contents of the pages are not included. */
export function searchPrice(type: string, results: number): number {
  return listPrice(type, results, prices);
}

export function contentsPrice(pages: PageCounts): number {
  return contentTypes.reduce((sum, kind) => sum + pages[kind], 0) * MICROS_PER_PAGE;
}

const longNames = { text: 'contentText', highlights: 'contentHighlight', summary: 'contentSummary' };

/**
 * The cost of an answer, in dollars, in two forms: `search` and `contents` as in today's service, and `breakDown` as in the contract.
 * `total` is the sum in both. Kinds of content without cost are left out; the two sums in `breakDown` are sent even if they are zero.
 * `search`: micro-dollars of the search; null: the answer is not that of a search.
 */
export function costDollars(pages: PageCounts, search: number | null = null, deep = false): unknown {
  const contents = contentsPrice(pages);
  const costs = (nameOf: (kind: keyof PageCounts) => string) => {
    const paid = contentTypes.filter((kind) => pages[kind] > 0);
    return Object.fromEntries(paid.map((kind) => [nameOf(kind), toDollars(pages[kind] * MICROS_PER_PAGE)]));
  };
  const ofSearch = search === null ? {} : { [deep ? 'deepSearch' : 'neuralSearch']: toDollars(search) };
  const breakdown = { ...ofSearch, ...costs((kind) => longNames[kind]) };
  return {
    total: toDollars(contents + (search ?? 0)),
    search: search === null ? undefined : { neural: toDollars(search) },
    contents: contents > 0 ? costs((kind) => kind) : undefined,
    breakDown: [{ search: toDollars(search ?? 0), contents: toDollars(contents), breakdown }],
  };
}
