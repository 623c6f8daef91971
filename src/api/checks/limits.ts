/** A field that the service would refuse; `message` names the field, its value, the limit and the profile. */
export interface LimitProblem {
  /** Path of the field in the request, such as `contents.highlights.numSentences` or `urls[3]`. */
  readonly field: string;
  readonly message: string;
}

export interface Range {
  readonly min: number;
  readonly max: number | null;
  readonly integer: boolean;
}

/** The service's limits as data (API reference: each operation, and rate limits). `null` means no limit. */
export interface ServiceLimits {
  readonly profile: string;
  readonly numResults: Range;
  readonly maxDomains: number;
  readonly maxUrls: number;
  readonly maxUrlLength: number;
  /** Maximum number of strings in `includeText` and in `excludeText`, and of words in each string. */
  readonly maxTextFilters: number;
  readonly maxTextFilterWords: number | null;
  /** Search types that take `additionalQueries`. */
  readonly deepTypes: readonly string[];
  readonly maxAdditionalQueries: number | null;
  /** Whether `userLocation` may also be an object with coordinates. */
  readonly locationObjects: boolean;
  /** Categories that refuse published-date filters and `excludeDomains`. */
  readonly plainCategories: readonly string[];
  /** Ranges of the content options, by path. */
  readonly contents: Readonly<Record<string, Range>>;
  /** Values of the deprecated option `livecrawl`. */
  readonly livecrawl: readonly string[];
  readonly maxSubpageTarget: { readonly entries: number; readonly length: number } | null;
  readonly maxObjective: number | null;
  /** Maximum number of characters of the `context` of a search. */
  readonly maxContext: number | null;
  /** Content options that exclude each other, by name. */
  readonly contentsExclude: Readonly<Record<string, readonly string[]>>;
  /** Maximum number of properties and of levels of the `outputSchema` of a search. */
  readonly maxOutputSchema: { readonly properties: number; readonly depth: number } | null;
  /** Page sizes of the lists, by name of the operation. */
  readonly pageSizes: Readonly<Record<string, Range>>;
  readonly monitors: {
    readonly maxName: number;
    readonly maxFilterValue: number | null;
    readonly batchLimit: Range;
    /** Whether a new monitor needs a webhook with an HTTPS address. */
    readonly webhook: boolean;
    /** Whether a period must be one whole number and one unit, and at least an hour. */
    readonly periods: boolean;
  };
  readonly agents: {
    readonly maxDataSources: number | null;
    readonly previousRunId: { readonly pattern: RegExp; readonly maxLength: number } | null;
    readonly budget: { readonly maxCostDollars: Range; readonly maxDurationSeconds: Range } | null;
    /** Efforts with a fixed price; requests with such an effort cannot have a budget. */
    readonly fixedEfforts: readonly string[];
  };
  readonly maxInstructions: number | null;
}

const whole = (min: number, max: number | null): Range => ({ min, max, integer: true });

/** Page sizes in the contract, and further page sizes that only the public service documents. Both profiles apply all of them. */
const pageSizes = {
  listMonitors: whole(1, 100),
  listMonitorRuns: whole(1, 100),
  listAgentRuns: whole(1, 100),
  listAgentRunEvents: whole(1, 100),
  listEvents: { min: 1, max: 200, integer: false },
  listWebsets: whole(1, 100),
  listWebsetItems: whole(1, 100),
  listResearchTasks: whole(1, 200),
};

const contract: ServiceLimits = {
  profile: 'contract',
  numResults: whole(1, 100),
  maxDomains: 1200,
  // Only the public service caps the number of URLs; both profiles apply this cap.
  maxUrls: 100,
  maxUrlLength: 2048,
  maxTextFilters: 1,
  maxTextFilterWords: 5,
  deepTypes: ['deep'],
  maxAdditionalQueries: null,
  locationObjects: false,
  plainCategories: [],
  contents: {
    'highlights.numSentences': whole(1, null),
    'highlights.highlightsPerUrl': whole(1, null),
    livecrawlTimeout: { min: 0, max: null, integer: false },
    subpages: whole(0, null),
  },
  // The service's public client libraries also accept `auto`.
  livecrawl: ['never', 'fallback', 'always', 'preferred', 'auto'],
  maxSubpageTarget: null,
  maxObjective: null,
  maxContext: null,
  contentsExclude: {},
  maxOutputSchema: null,
  pageSizes,
  monitors: { maxName: 250, maxFilterValue: null, batchLimit: whole(1, null), webhook: false, periods: false },
  agents: { maxDataSources: null, previousRunId: null, budget: null, fixedEfforts: [] },
  maxInstructions: null,
};

const count = whole(0, 1000);

const live: ServiceLimits = {
  ...contract,
  profile: 'live',
  maxTextFilters: 50,
  maxTextFilterWords: null,
  deepTypes: ['deep', 'deep-lite', 'deep-reasoning'],
  maxAdditionalQueries: 10,
  locationObjects: true,
  plainCategories: ['company', 'people'],
  contents: {
    ...contract.contents,
    // Two limits are documented: 10,000 and 1,000,000. The larger limit is used, so that no valid request is refused.
    'text.maxCharacters': whole(1, 1_000_000),
    'highlights.maxCharacters': whole(1, 10_000),
    livecrawlTimeout: whole(1, 90_000),
    maxAgeHours: whole(-1, 720),
    subpages: whole(0, 100),
    'extras.links': count,
    'extras.imageLinks': count,
    'extras.richImageLinks': count,
    'extras.richLinks': count,
    'extras.codeBlocks': count,
  },
  maxSubpageTarget: { entries: 100, length: 100 },
  maxObjective: 4096,
  maxContext: 10_000,
  contentsExclude: {
    maxAgeHours: ['livecrawl'],
    snapshotAsOf: ['livecrawl', 'livecrawlTimeout', 'maxAgeHours', 'subpages'],
  },
  maxOutputSchema: { properties: 10, depth: 2 },
  monitors: { maxName: 250, maxFilterValue: 1000, batchLimit: whole(1, 500), webhook: true, periods: true },
  agents: {
    maxDataSources: 5,
    previousRunId: { pattern: /^[A-Za-z0-9_.:-]+$/, maxLength: 200 },
    budget: {
      maxCostDollars: { min: 1, max: 100, integer: false },
      maxDurationSeconds: { min: 300, max: 10_800, integer: false },
    },
    fixedEfforts: ['minimal', 'low', 'medium', 'high', 'xhigh'],
  },
  maxInstructions: 4096,
};

/** `contract` holds the limits of the first API contract, `live` holds the limits of the public service of today. */
export const limitProfiles = { contract, live } as const;
export type LimitProfile = keyof typeof limitProfiles;
