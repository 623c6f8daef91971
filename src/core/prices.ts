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
  /** A research task: no price is public. */
  readonly research: number;
  /** A run of a fixed effort, and the cap of a metered one that says none itself. */
  readonly agentRun: Readonly<Record<string, number>>;
  readonly agentRunDefault: number;
}

/** Public facts section 12; the contract's own range (sections 4.1, 4.2) holds it. */
export const prices: PriceTable = {
  since: '2026-08-01',
  contentsPage: 0.001,
  searchBase: { lite: 0.004, instant: 0.004, 'deep-lite': 0.012, deep: 0.012, 'deep-reasoning': 0.015 },
  searchDefault: 0.007,
  searchResult: 0.001,
  answer: 0.005,
  research: 0.1,
  agentRun: { minimal: 0.012, low: 0.025, medium: 0.1, high: 0.5, xhigh: 1, max: 20, ultra: 20 },
  agentRunDefault: 5,
};

const contentTypes = ['text', 'highlights', 'summary'] as const;

/** How many content types a contents request asks for. None asked means text: the service turns it on and bills it. */
export function contentTypesOf(options: { readonly [name: string]: unknown }): number {
  const asked = contentTypes.filter(
    (name) => options[name] !== undefined && options[name] !== null && options[name] !== false,
  );
  return Math.max(1, asked.length);
}

/** Estimate of a contents request in micro-dollars. */
export function estimateContents(options: { readonly [name: string]: unknown }, urls: number): number {
  const subpages = typeof options.subpages === 'number' ? options.subpages : 0;
  return Math.round(prices.contentsPage * 1e6) * contentTypesOf(options) * urls * (1 + subpages);
}

/** Estimate of a search request in micro-dollars: a summary costs extra, for each page. */
export function estimateSearch(request: { readonly [name: string]: unknown }): number {
  const base = prices.searchBase[String(request.type)] ?? prices.searchDefault;
  const results = typeof request.numResults === 'number' ? request.numResults : 10;
  const { contents } = request;
  const summary = typeof contents === 'object' && contents !== null && 'summary' in contents && contents.summary;
  const pages = summary ? results * prices.contentsPage : 0;
  return Math.round((base + Math.max(0, results - 10) * prices.searchResult + pages) * 1e6);
}

/** The most that an agent run can cost, in micro-dollars: its price, its own budget, or the cap of its effort. */
export function estimateAgentRun(effort: string | undefined, maxCostDollars: number | undefined): number {
  return Math.round((maxCostDollars ?? prices.agentRun[effort ?? 'auto'] ?? prices.agentRunDefault) * 1e6);
}
