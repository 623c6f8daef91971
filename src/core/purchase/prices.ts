import { contentTypes } from '../request-values.js';
import { priceMicros } from '../text/money.js';

export type ContentType = (typeof contentTypes)[number];

/** Dollars of a request by its number of results. The first band that holds the number counts; null: the band has no upper bound. */
export type PriceBands = readonly (readonly [upToResults: number | null, dollars: number])[];

/** Prices in dollars that are valid from a day on. If an answer has a cost, that cost counts instead. */
export interface PriceTable {
  /** The first UTC day on which the table is valid, such as `2026-03-01`. */
  readonly since: string;
  /** `search`: price of a request by its type of search or `findSimilar`. `searchResult`: price of each result above ten. */
  readonly search: Readonly<Record<string, PriceBands>>;
  readonly searchResult: number;
  /** Price of one page in a search, for each requested type of content. */
  readonly searchPage: Readonly<Record<ContentType, number>>;
  /** Price of one page and type of content in a contents request. A subpage counts as a page. */
  readonly contentsPage: number;
  readonly answer: number;
  readonly research: number;
  readonly monitorRun: number;
  /** Price of a run by its effort. For an effort that is billed by usage: the maximum cost of a run without a budget. */
  readonly agentRun: Readonly<Record<string, number>>;
  /** The parts of a run that is billed by usage. */
  readonly agentUse: Readonly<Record<'computeUnit' | 'search' | 'email' | 'phoneNumber', number>>;
}

const contractNeural: PriceBands = [
  [25, 0.005],
  [100, 0.025],
  [null, 1],
];

/** The contract's standard prices (API reference: prices). They were also the public prices before March 2026. */
const contractPrices: PriceTable = {
  since: '1970-01-01',
  search: {
    neural: contractNeural,
    fast: contractNeural,
    auto: contractNeural,
    deep: [
      [25, 0.015],
      [100, 0.075],
      [null, 1],
    ],
    findSimilar: contractNeural,
  },
  searchResult: 0,
  searchPage: { text: 0.001, highlights: 0.001, summary: 0.001 },
  contentsPage: 0.001,
  answer: 0.005,
  // No price is published. This value is above the cost of the example tasks of the retired service (API reference: /research).
  research: 0.1,
  monitorRun: 0.015,
  // Runs of metered efforts (auto, max, ultra) end when their budget is used up, by default 5 or 20 dollars.
  agentRun: { minimal: 0.012, low: 0.025, medium: 0.1, high: 0.5, xhigh: 1, auto: 5, max: 20, ultra: 20 },
  agentUse: { computeUnit: 0.1, search: 0.005, email: 0.02, phoneNumber: 0.07 },
};

const perRequest = (dollars: number): PriceBands => [[null, dollars]];

/** Searches whose price does not depend on the query; with other types it does: `auto` may become deep, and deep has a range of prices. */
const plainSearches = {
  lite: perRequest(0.004),
  instant: perRequest(0.004),
  fast: perRequest(0.007),
  neural: perRequest(0.007),
  keyword: perRequest(0.007),
  findSimilar: perRequest(0.007),
};

/** The built-in tables, oldest first. */
export const priceTables: readonly PriceTable[] = [
  contractPrices,
  {
    ...contractPrices,
    // A search includes up to ten results with text and highlights. Two prices of a monitor's run are
    // published; the higher one is used.
    since: '2026-03-01',
    search: {
      ...plainSearches,
      auto: perRequest(0.007),
      'deep-lite': perRequest(0.012),
      deep: perRequest(0.012),
      'deep-reasoning': perRequest(0.015),
    },
    searchResult: 0.001,
    searchPage: { text: 0, highlights: 0, summary: 0.001 },
  },
];

/** Returns the newest table that is valid at a moment (Unix ms), else the oldest. */
export function pricesAt(at: number, tables: readonly PriceTable[] = priceTables): PriceTable {
  const sorted = [...tables].sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
  return sorted.findLast(({ since }) => Date.parse(since) <= at) ?? (sorted[0] as PriceTable);
}

/** List price of a search without its pages, in micro-dollars; an unknown type costs as much as `auto`. */
export function searchPrice(type: string, results: number, table: PriceTable): number {
  const bands = table.search[type] ?? table.search.auto ?? [];
  const [, dollars = 0] = bands.find(([most]) => most === null || results <= most) ?? bands.at(-1) ?? [];
  return priceMicros(dollars) + Math.max(0, results - 10) * priceMicros(table.searchResult);
}

type Options = { readonly [name: string]: unknown };

export function contentTypesOf(options: Options): readonly ContentType[] {
  return contentTypes.filter((name) => (options[name] ?? false) !== false);
}

/** Estimate of a contents request in micro-dollars. If no type of content is requested, the service returns and bills text. */
export function estimateContents(options: Options, urls: number, table: PriceTable): number {
  const kinds = Math.max(1, contentTypesOf(options).length);
  return priceMicros(table.contentsPage) * kinds * urls * (1 + subpagesOf(options));
}

/** Maximum cost of a search, in micro-dollars; the service states a range of costs that depends on the query. */
export function estimateSearch(request: Options, table: PriceTable): number {
  const type = typeOf(request);
  const isPlain = Object.hasOwn(plainSearches, type) && table.search[type] !== undefined;
  return priceAs(isPlain ? [type] : Object.keys(table.search), request, table);
}

/** List price of a search with its pages, in micro-dollars. This is the cost, unless the service chooses a more expensive type. */
export function listSearch(request: Options, table: PriceTable): number {
  return priceAs([typeOf(request)], request, table);
}

const typeOf = ({ type }: Options): string => (typeof type === 'string' ? type : 'auto');

function priceAs(types: readonly string[], request: Options, table: PriceTable): number {
  const results = typeof request.numResults === 'number' ? request.numResults : 10;
  const base = Math.max(0, ...types.map((one) => searchPrice(one, results, table)));
  const contents = typeof request.contents === 'object' ? ((request.contents ?? {}) as Options) : {};
  const kinds = contentTypesOf(contents);
  const page = kinds.reduce((sum, kind) => sum + priceMicros(table.searchPage[kind]), 0);
  const subpage = Math.max(1, kinds.length) * priceMicros(table.contentsPage);
  return base + results * (page + subpagesOf(contents) * subpage);
}

/**
 * Maximum cost of an agent run, in micro-dollars: the budget of the run, or else the price of its effort. An unknown effort counts at the
 * highest price.
 */
export function estimateAgentRun(effort = 'auto', maxCostDollars: number | undefined, table: PriceTable): number {
  const { agentRun } = table;
  return priceMicros(maxCostDollars ?? agentRun[effort] ?? Math.max(...Object.values(agentRun)));
}

export const estimateAnswer = (table: PriceTable): number => priceMicros(table.answer);
export const estimateResearch = (table: PriceTable): number => priceMicros(table.research);

function subpagesOf({ subpages }: Options): number {
  return typeof subpages === 'number' && subpages > 0 ? subpages : 0;
}
