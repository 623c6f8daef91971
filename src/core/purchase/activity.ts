import type { UsageLine } from './spend.js';

/** How a request of an operation counts against the rate limit: the bucket of the rate profile, and the units of the request. */
export interface RateShare {
  readonly operation: string;
  readonly bucket: string;
  readonly units: number;
}

export interface ActivityQuery {
  /** Id of a job; null: all purchases of the team. */
  readonly job: string | null;
  /** Unix ms; `until` is not included. */
  readonly since: number;
  readonly until: number;
  /** Length of a step, and of the windows in which requests are counted for the use of the limit, in ms. */
  readonly stepMs: number;
  readonly windowMs: number;
  readonly shares: readonly RateShare[];
  readonly usual: Omit<RateShare, 'operation'>;
}

/**
 * The paid requests that began in one step of the time, for one bucket of the rate profile. Made from the intents, answers and misses of the
 * journal.
 */
export interface ActivityStep {
  readonly bucket: string;
  /** Start of the step, Unix ms. */
  readonly at: number;
  /** Requests that were sent, and their units of the rate limit. */
  readonly requests: number;
  readonly units: number;
  /** Number of windows with a request, and the units of the busiest of them. */
  readonly active: number;
  readonly busiest: number;
  readonly answered: number;
  /** Sum of the times from intent to answer, and the longest of them, in seconds. */
  readonly seconds: number;
  readonly slowest: number;
  /** Answers 429, and the sum of the waits that they named, in seconds. */
  readonly limited: number;
  readonly waitSeconds: number;
  /** Requests that the service refused or failed otherwise, without a charge. */
  readonly failed: number;
  /** Unknown outcomes. */
  readonly lost: number;
}

/** Sums of a UTC day and an operation. Amounts in micro-dollars. */
export interface DayUsage extends Omit<UsageLine, 'group'> {
  /** `2026-11-21`. */
  readonly day: string;
  readonly operation: string;
}

/** What a report reads from the journal. All methods only read, and add up where the journal is. */
export interface JournalReport {
  /** Steps with requests, ordered by bucket and time. */
  activity(query: ActivityQuery): Promise<readonly ActivityStep[]>;
  /** Sums by day and operation, ordered by both; `job` null: all jobs of the team. `since` and `until` as in `Spend.usage`. */
  days(job: string | null, since: number, until: number): Promise<readonly DayUsage[]>;
}
