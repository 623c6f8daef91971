import type { Json } from './json.js';

/** Dollars by what is asked, with the day they hold from. Used for estimates; what the wire says counts where it says it. */
export interface PriceTable {
  readonly since: string;
  /** A page and content type (text, highlights, summary) of a contents request. */
  readonly contentsPage: number;
  readonly searchBase: Readonly<Record<string, number>>;
  readonly searchDefault: number;
  /** Each result above ten. */
  readonly searchResult: number;
  readonly answer: number;
}

/** Public facts section 12; the contract's own range (sections 4.1, 4.2) holds it. */
export const prices: PriceTable = {
  since: '2026-08-01',
  contentsPage: 0.001,
  searchBase: { lite: 0.004, instant: 0.004, 'deep-lite': 0.012, deep: 0.012, 'deep-reasoning': 0.015 },
  searchDefault: 0.007,
  searchResult: 0.001,
  answer: 0.005,
};

const contentTypes = ['text', 'highlights', 'summary'] as const;

/** How many content types a contents request asks for. None asked means text: the service turns it on and bills it. */
export function contentTypesOf(options: { readonly [name: string]: Json | undefined }): number {
  const asked = contentTypes.filter(
    (name) => options[name] !== undefined && options[name] !== null && options[name] !== false,
  );
  return Math.max(1, asked.length);
}

/** Estimate of a contents request in micro-dollars. */
export function estimateContents(options: { readonly [name: string]: Json | undefined }, urls: number): number {
  const subpages = typeof options.subpages === 'number' ? options.subpages : 0;
  return Math.round(prices.contentsPage * 1e6) * contentTypesOf(options) * urls * (1 + subpages);
}

/** Estimate of a search request in micro-dollars. */
export function estimateSearch(request: { readonly [name: string]: unknown }): number {
  const base = prices.searchBase[String(request.type)] ?? prices.searchDefault;
  const results = typeof request.numResults === 'number' ? request.numResults : 10;
  return Math.round((base + Math.max(0, results - 10) * prices.searchResult) * 1e6);
}
