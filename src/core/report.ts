import type { RateBucket } from './limiter/rate.js';
import type { ActivityStep, DayUsage } from './purchase/activity.js';
import type { UnknownOutcome } from './purchase/journal.js';
import type { PeriodSpend, SpendCaps, UsageLine } from './purchase/spend.js';
import type { RecordedRun, RowFigures } from './rows/row-figures.js';
import type { WarehouseSummary } from './rows/row-warehouse.js';

/** A range of UTC days, Unix ms; `until` is the end of the last day. */
export interface ReportWish {
  /** Name or id of a job; null: the team. */
  readonly job: string | null;
  readonly since: number;
  readonly until: number;
}

export interface ReportedJob {
  readonly job: string;
  readonly name: string;
  readonly phase: string;
  readonly message: string | null;
  /** Counts of its rows; null: they cannot be read now. */
  readonly rows: WarehouseSummary | null;
  /** Its purchases in the range of the report; null: none. */
  readonly usage: UsageLine | null;
}

export interface ReportedStream {
  readonly stream: string;
  readonly into: string;
  /** Unix ms of the time up to which all events are loaded, and of the end of the last complete run. */
  readonly upTo: number | null;
  readonly completedAt: number | null;
  /** Windows that are not read yet. */
  readonly pending: number;
}

/** The figures of a report. Times in Unix ms, amounts in micro-dollars. */
export interface Report {
  /** Null in a report on the team. */
  readonly job: (ReportedJob & { readonly operation: string; readonly input: string; readonly into: string }) | null;
  readonly origin: string;
  readonly team: string | null;
  readonly at: number;
  readonly since: number;
  readonly until: number;
  /** The range in which there are purchases, without purchases that of the loads; and the length of the steps in `activity` and `figures.loads`. */
  readonly active: { readonly since: number; readonly until: number; readonly stepMs: number };
  /** Buckets of the rate profile, and the length of the windows in which their use is counted. */
  readonly limits: { readonly profile: string; readonly windowMs: number; readonly buckets: readonly RateBucket[] };
  readonly activity: readonly ActivityStep[];
  readonly days: readonly DayUsage[];
  readonly caps: SpendCaps;
  readonly spent: { readonly day: PeriodSpend; readonly month: PeriodSpend };
  /** The newest unknown outcomes of the job; empty for the team. */
  readonly unknown: readonly UnknownOutcome[];
  readonly unknownCount: number;
  readonly figures: RowFigures | null;
  /** The newest jobs of the team; empty for a job. */
  readonly jobs: readonly ReportedJob[];
  readonly runs: readonly RecordedRun[];
  readonly streams: readonly ReportedStream[];
  /** What could not be read, as sentences. */
  readonly missing: readonly string[];
}
