import type { ActivityStep, DayUsage } from './spend-schemas.js';

export type { ActivityStep, DayUsage } from './spend-schemas.js';

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

/** What a report reads from the journal. All methods only read, and add up where the journal is. */
export interface JournalReport {
  /** Steps with requests, ordered by bucket and time. */
  activity(query: ActivityQuery): Promise<readonly ActivityStep[]>;
  /** Sums by day and operation, ordered by both; `job` null: all jobs of the team. `since` and `until` as in `Spend.usage`. */
  days(job: string | null, since: number, until: number): Promise<readonly DayUsage[]>;
}
