/**
 * How fast a team may call. Rates are data: a profile is a list of buckets, a call draws from every bucket that names its class.
 * Interface section 8 (flat 10 QPS), public facts section 11 (the per-endpoint table).
 */
export interface RateBucket {
  readonly name: string;
  /** Units a second, in any sliding second. */
  readonly qps: number;
  /** Rate classes that draw from it; `*` is all. */
  readonly classes: readonly string[];
}

export interface RateProfile {
  readonly name: string;
  readonly buckets: readonly RateBucket[];
}

/** One bucket for everything, as the contract has it. */
export function flatProfile(qps: number): RateProfile {
  return { name: `flat-${qps}`, buckets: [{ name: 'all', qps, classes: ['*'] }] };
}

/** The contract's default, its higher rate, and the public per-endpoint table. */
export const rateProfiles: Readonly<Record<string, RateProfile>> = {
  contract: { ...flatProfile(10), name: 'contract' },
  boost: { ...flatProfile(25), name: 'boost' },
  public: {
    name: 'public',
    buckets: [
      { name: 'search', qps: 10, classes: ['search', 'search.deep', 'answer', 'default'] },
      { name: 'search.deep', qps: 5, classes: ['search.deep'] },
      { name: 'contents', qps: 100, classes: ['contents'] },
      { name: 'agent', qps: 10, classes: ['agent'] },
      { name: 'websets', qps: 20, classes: ['websets'] },
    ],
  },
};

/** The longest block that is obeyed by waiting; a longer one pauses the job (`rate`). */
export const MAX_BLOCK_MS = 3_600_000;

/** How far ahead of its start a grant may be given. */
export const GRANT_AHEAD_MS = 250;
