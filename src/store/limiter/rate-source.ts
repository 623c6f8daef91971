import type { BucketView, Grant, RateCost } from '../../core/limiter/limiter.js';
import type { RateProfile } from '../../core/limiter/rate.js';

/** A granted start, in this process's clock (`performance.now()`) and in the rate source's own. */
export type GrantedStart = Pick<Grant, 'startAt' | 'bookedAt'>;

/** What a queue of waiting calls asks for; see `ask` in `core/limiter/rate-queue`. */
export interface Wanted {
  readonly rateCost: RateCost;
  /** Name of the queue, the same each time it asks. */
  readonly queue: string;
  readonly count: number;
  readonly margin: number;
  readonly queued: number;
}

export interface Block {
  /** In this process's clock. */
  readonly until: number;
  readonly reason: string;
}

/**
 * Whoever keeps the team's rings and its block: this process's memory, or a database. All times that go in and out are of this
 * process's monotonic clock, save `bookedAt`.
 */
export interface RateSource {
  readonly profile: RateProfile;
  /** The block as it is known here, over or not. */
  readonly block: Block | null;
  ask(wanted: Wanted): Promise<{ readonly starts: readonly GrantedStart[]; readonly comeAt: number }>;
  /** Writes back that a call started later than it was booked. */
  late(grant: Grant, startedAt: number): void;
  /** Writes down that a call was refused for its rate; see `refused` in `core/limiter/rate-queue`. */
  refused(rateCost: RateCost): void;
  /** Blocks the team; known here at once, durable when this resolves. */
  hold(block: Block): Promise<void>;
  /** The rings now, and the calls that wait in other processes. Brings `block` up to date. */
  poll(): Promise<{ readonly buckets: readonly BucketView[]; readonly waiting: number }>;
  close(): Promise<void>;
}
