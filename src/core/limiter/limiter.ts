import type { LimiterView } from './limiter-schemas.js';

export type { BucketView, LimiterView } from './limiter-schemas.js';

export interface RateCost {
  /** Rate class of the operation, such as `contents`; the profile maps the class to buckets. */
  readonly rateClass: string;
  /** Units: 1 for most calls, 2 for an agent start, 0 for polling, which takes no turn but waits during a block. */
  readonly weight: number;
}

/** A turn. `startAt` is in the limiter's own clock and at most 250 ms ahead. */
export interface Grant {
  readonly rateCost: RateCost;
  readonly startAt: number;
  /** The same moment by the clock of the process or database that holds the limit. */
  readonly reservedAt: number;
}

/**
 * The team's rate limit (API reference: rate limits), for all callers. There is one limiter per origin and key. Use: `acquire`, write the
 * intent, `start`, send.
 */
export interface Limiter {
  /** Waits for a turn, first come first served. Rejects with the signal's reason when aborted. */
  acquire(rateCost: RateCost, signal?: AbortSignal): Promise<Grant>;
  /**
   * Waits until the start time of a turn. `blocked`: a block has begun meanwhile and the turn is void. Send nothing; acquire another turn.
   */
  start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'>;
  /**
   * Blocks all calls of the team for `ms` from now. A shorter block never ends a longer block. `refused` is the rate cost of the refused
   * call. If the refused call was within the limit, calls of the same buckets keep a wider margin for a while.
   */
  block(ms: number, reason: string, refused?: RateCost): Promise<void>;
  /** Ends the block of the team, whose waiting calls get their turns within seconds. */
  unblock(): Promise<void>;
  /** Reports that a call waited in the service's own queue: calls of the same buckets slow down for a while. */
  queued(rateCost: RateCost): void;
  /** `of`: a call. `qps` and `effectiveQps` are then those of the slowest bucket that the call counts against. */
  view(of?: RateCost): Promise<LimiterView>;
  close(): Promise<void>;
}

type Turns = Pick<Limiter, 'acquire' | 'start'>;

/** Waits for a turn and its start time. If a block begins meanwhile, waits for another turn. */
export async function takeTurn(limiter: Turns, rateCost: RateCost, signal?: AbortSignal): Promise<void> {
  let grant: Grant;
  do {
    grant = await limiter.acquire(rateCost, signal);
  } while ((await limiter.start(grant, signal)) === 'blocked');
}
