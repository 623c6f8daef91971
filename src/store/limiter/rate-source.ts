import type { BucketView, Grant, RateCost } from '../../core/limiter/limiter.js';
import type { RateProfile } from '../../core/limiter/rate.js';

/** A granted start, by this process's clock (`performance.now()`) and by the clock of the rate source. */
export type GrantedStart = Pick<Grant, 'startAt' | 'reservedAt'>;

/** Request of a queue of waiting calls; see `ask` in `core/limiter/rate-queue`. */
export interface WantedTurns {
  readonly rateCost: RateCost;
  /** Name of the queue, the same in each request. */
  readonly queue: string;
  readonly count: number;
  readonly margin: number;
  readonly queued: number;
}

export interface Block {
  /** The beginning and the end of the block, in this process's clock. */
  readonly since: number;
  readonly until: number;
  readonly reason: string;
}

/**
 * Keeps the team's rings and its block: in the memory of this process, in a file or in a database. All times except `reservedAt` are of this
 * process's monotonic clock.
 */
export interface RateSource {
  readonly profile: RateProfile;
  /** The last known block, which may be over. */
  readonly block: Block | null;
  ask(wanted: WantedTurns): Promise<{ readonly starts: readonly GrantedStart[]; readonly comeAt: number }>;
  /** Records that a call started later than its reserved start. */
  late(grant: Grant, startedAt: number): void;
  /** Records that a call was refused for its rate; see `noteRefused` in `core/limiter/rate-queue`. */
  refused(rateCost: RateCost): void;
  /** Blocks the team: in this process at once. The block is durable when the returned promise resolves. */
  hold(block: Block): Promise<void>;
  /** Ends the block, also for other processes, which notice it within seconds. */
  lift(): Promise<void>;
  /** Reads the rings and the number of calls that wait in other processes. Updates `block`. */
  view(): Promise<{ readonly buckets: readonly BucketView[]; readonly waiting: number }>;
  close(): Promise<void>;
}
