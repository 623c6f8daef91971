import type { RateProfile } from './rate.js';

/** What a call counts against the team's rate limit. */
export interface RateCost {
  /** Rate class of the operation, such as `contents`; the profile says which buckets it counts against. */
  readonly rateClass: string;
  /** Units: 1 for most calls, 2 for an agent start, 0 for polling, which skips the rate source but never a block. */
  readonly weight: number;
}

/** A start at the rate source. `startAt` is in the limiter's own clock and at most 250 ms ahead. */
export interface Grant {
  readonly rateCost: RateCost;
  readonly startAt: number;
  /** The same moment in the clock of whoever holds the rate source. */
  readonly bookedAt: number;
}

/** One bucket of the rate profile as it is now, in units a second. */
export interface BucketView {
  readonly name: string;
  readonly qps: number;
  /** What is left of it by margins, and by going slower while the service queues our calls. */
  readonly effectiveQps: number;
  /** Units that started within the last second, whoever started them. */
  readonly used: number;
}

/** What a limiter shows of itself. Times are Unix milliseconds. */
export interface LimiterView {
  readonly profile: string;
  /** Of the first bucket; all of them are in `buckets`. */
  readonly qps: number;
  readonly effectiveQps: number;
  readonly buckets: readonly BucketView[];
  readonly blockedUntil: number | null;
  readonly blockReason: string | null;
  /** Who has the limit that calls here wait for, in words; absent: nobody else. */
  readonly heldBy?: string;
  /** Calls that wait for a place, in every process that shares the limit. */
  readonly waiting: number;
}

/**
 * The team's rate limit (interface section 8), whoever calls. Keyed by origin and key fingerprint.
 * Use: `acquire`, write down what is about to be bought, `start`, send.
 */
export interface Limiter {
  /** Waits its turn, first come first served. Rejects with the signal's reason when aborted. */
  acquire(rateCost: RateCost, signal?: AbortSignal): Promise<Grant>;
  /**
   * Waits until the grant's moment. `blocked` means that a block began meanwhile: the grant is void, nothing may be
   * sent, ask for another.
   */
  start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'>;
  /**
   * Holds back every call of the team for `ms` from now. A shorter block never ends a longer one. `refused` is what the call drew
   * that was answered so: where it kept to the limit, calls that count against the same buckets keep a wider margin for a while.
   */
  block(ms: number, reason: string, refused?: RateCost): Promise<void>;
  /** Says that an answer had waited in the service's own queue: calls that count against the same buckets go slower for a while. */
  queued(rateCost: RateCost): void;
  view(): Promise<LimiterView>;
  close(): Promise<void>;
}

/** What a limiter that nobody uses would show. */
export function idleView(profile: RateProfile): LimiterView {
  const buckets = profile.buckets.map(({ name, qps }) => ({ name, qps, effectiveQps: qps, used: 0 }));
  const qps = buckets[0]?.qps ?? 0;
  return {
    profile: profile.name,
    qps,
    effectiveQps: qps,
    buckets,
    blockedUntil: null,
    blockReason: null,
    waiting: 0,
  };
}

/** Waits for a start at the rate source and for its moment; a block that begins meanwhile voids the place, and another is taken. */
export async function takeTurn(limiter: Limiter, rateCost: RateCost, signal?: AbortSignal): Promise<void> {
  let grant: Grant;
  do {
    grant = await limiter.acquire(rateCost, signal);
  } while ((await limiter.start(grant, signal)) === 'blocked');
}
