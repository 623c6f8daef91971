/**
 * The rate of a team. Rates are data: a profile is a list of buckets, and a call counts against every bucket that names its class.
 * API reference: rate limits.
 */
export interface RateBucket {
  readonly name: string;
  /** Units a second, in any sliding second. */
  readonly qps: number;
  /** Rate classes that count against the bucket; `*` is all. */
  readonly classes: readonly string[];
  /** The bucket's owner: the team with all its keys (the default), or one key. */
  readonly of?: 'team' | 'key';
}

export interface RateProfile {
  readonly name: string;
  readonly buckets: readonly RateBucket[];
}

/** One bucket for all calls, as in the contract. */
export function flatProfile(qps: number): RateProfile {
  return { name: `flat-${qps}`, buckets: [{ name: 'all', qps, classes: ['*'] }] };
}

/** A profile with an additional, lower limit of one key: calls with this key count against both limits. */
export function withKeyLimit(profile: RateProfile, qps: number): RateProfile {
  const own: RateBucket = { name: 'key', qps, classes: ['*'], of: 'key' };
  return { name: `${profile.name}+key-${qps}`, buckets: [...profile.buckets, own] };
}

/**
 * Returns the buckets that a call of this class counts against. If no bucket of the team names the class, the call counts against the
 * first bucket, so that the call is not refused.
 */
export function bucketsFor({ buckets }: RateProfile, rateClass: string): readonly RateBucket[] {
  const named = buckets.filter(({ classes }) => classes.includes('*') || classes.includes(rateClass));
  return named.some(({ of }) => of !== 'key') ? named : [...buckets.slice(0, 1), ...named];
}

/** Whole units a second, at least one. */
export function wholeUnits({ qps }: RateBucket): number {
  return Math.max(1, Math.floor(qps));
}

/** The default rate of the contract, the higher rate of the contract, and the public rates by endpoint. */
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

/** The longest block that jobs wait for. A longer block pauses the job (`rate`). Single calls wait for any block. */
export const MAX_BLOCK_MS = 3_600_000;

/** The longest time between a grant and its start. */
export const GRANT_AHEAD_MS = 250;
