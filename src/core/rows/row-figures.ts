import type { ServiceWarning, WarehouseSummary } from '../row-job-schemas.js';

/** How a run of a job ended. Times in Unix ms, amounts in micro-dollars. */
export interface RunRecord
  extends Pick<WarehouseSummary, 'rows' | 'success' | 'error' | 'invalid' | 'missing' | 'vanished'> {
  readonly job: string;
  /** Id of the first run of the job's workflow. */
  readonly run: string;
  readonly scheduled: boolean;
  readonly generation: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly phase: 'done' | 'stopped';
  /** Why the run stopped: `reason` as a code, `message` as a sentence. */
  readonly reason: string | null;
  readonly message: string | null;
  readonly requests: number;
  readonly costMicros: number;
  /** See `JobSummary.warnings`. */
  readonly warnings?: readonly ServiceWarning[] | undefined;
}

export interface FiguresQuery {
  readonly job: string;
  /** Unix ms. Loads before this time are added up in the first part. */
  readonly since: number;
  /** Length of a part of the time, in ms. */
  readonly stepMs: number;
  readonly mostRuns: number;
}

export type RecordedRun = Omit<RunRecord, 'generation'>;

/** What a report reads from the warehouse of a job. The database adds up: memory does not grow with the rows. */
export interface RowFigures {
  readonly summary: WarehouseSummary;
  readonly tags: readonly { readonly status: string; readonly tag: string | null; readonly rows: number }[];
  /** Rows of the current input that were loaded in a part of the time, which starts `at` (Unix ms). */
  readonly loads: readonly { readonly at: number; readonly rows: number; readonly failed: number }[];
  /** Rows of the job's view, and the columns that may be NULL. */
  readonly viewRows: number;
  readonly nulls: readonly { readonly column: string; readonly nulls: number }[];
  /** The newest first. */
  readonly runs: readonly RecordedRun[];
}
