import type { RetryFreshness } from '../purchase/freshness.js';
import type { JobSummary, SentWith, ServiceWarning, SourceFields, StopAtFailed } from '../row-job-schemas.js';
import type { Json } from '../text/json.js';
import type { ColumnType } from './column-type.js';
import type { CsvForm } from './row-warehouse.js';
import type { AnswerCounts, RowsOfNothing } from './stop-at-failed.js';

/** The part of the request that all rows share, as sent. Unknown names pass through. */
export type ContentsJobOptions = { readonly [name: string]: Json };

/** The result of staging: the job's rows are in slices, and the source of the rows is no longer needed. */
export interface StagedJob extends SourceFields, SentWith {
  readonly job: string;
  readonly name: string;
  readonly origin: string;
  readonly operation: string;
  readonly input: string;
  readonly into: string;
  readonly columns: readonly string[];
  /** Types of the columns. Absent: the input is a CSV, whose cells are texts. */
  readonly types?: readonly ColumnType[];
  /** The column of URLs; null where requests come from a template. */
  readonly unitColumn: string | null;
  /** Scheme that was added to URLs without a scheme. Absent: no scheme was added. */
  readonly defaultScheme?: 'http' | 'https';
  /** Columns that identify a row. Absent: rows are matched by their cells. */
  readonly key?: readonly string[];
  readonly options: ContentsJobOptions;
  /** The part of the request that is rendered for each row. Absent if a row is a URL. */
  readonly template?: Json;
  /**
   * Number of rows that share one agent run; absent: one. Each row is an object of `input.data` with a `row_id`. The output must be a list
   * `rows` of objects with these ids; each object is stored with the row that has the same id.
   */
  readonly rowsPerRun?: number;
  /** The form of the enriched CSV. Absent: commas, no byte order mark. */
  readonly csvForm?: CsvForm;
  /** Number of units in one request. */
  readonly batch: number;
  /** Number of first rows to buy; absent: all. The stage has the whole input in any case. */
  readonly limit?: number;
  readonly generation: string;
  readonly rows: number;
  readonly badRows: number;
  readonly distinctUnits: number;
  readonly slices: number;
  /** Number of rows in each slice except the last. */
  readonly rowsPerSlice: number;
  /** Number of slices in progress at once. The number is large enough to use the whole rate limit. */
  readonly window: number;
  /** Directory of the slices, on the machine that staged the rows; see the port `Stages`. */
  readonly stageDir: string;
  /** The machine that has the warehouse file, for workers on several machines. */
  readonly host?: string;
}

/** Returns the number of rows to buy. */
export const wantedRows = ({ rows, limit = rows }: Pick<StagedJob, 'rows' | 'limit'>): number => Math.min(rows, limit);

/** The number of slices with rows to buy. The last of these slices may also have rows after the limit. */
export function wantedSlices(staged: Pick<StagedJob, 'rows' | 'limit' | 'slices' | 'rowsPerSlice'>): number {
  return staged.limit === undefined ? staged.slices : Math.ceil(wantedRows(staged) / staged.rowsPerSlice);
}

/** The number of rows of a slice to buy. */
export function wantedRowsOf(
  staged: Pick<StagedJob, 'rows' | 'limit' | 'slices' | 'rowsPerSlice'>,
  slice: number,
): number {
  const end = slice < staged.slices - 1 ? (slice + 1) * staged.rowsPerSlice : staged.rows;
  return Math.max(0, Math.min(end, wantedRows(staged)) - slice * staged.rowsPerSlice);
}

/** Input of the activity that buys and loads one slice. */
export interface SliceInput {
  readonly staged: StagedJob;
  readonly slice: number;
  readonly freshness?: RetryFreshness;
  /** Whether the warehouse may hold some of the slice's rows already. */
  readonly carried: boolean;
  /** Whether the warehouse may hold answers that the journal lacks. */
  readonly adopts: boolean;
  /** Time of the start or last resume of the job, in Unix ms. Refusals of the account (401, 402) before this time do not count. */
  readonly resumedAt: number;
  /** Start of the run of the job, in Unix ms. */
  readonly startedAt: number;
  /** The cap of the run, with the cost of the job's earlier runs, in micro-dollars. Absent: no cap. */
  readonly limitMicros?: number;
  /** Age in ms after which a run of a row is left running and the row fails as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunMs?: number;
  /** See `EnrichCsvInput.skipRefused`. */
  readonly skipRefused?: boolean;
  /** The limit of failed answers, in answers, with the number of answers since `resumedAt`. Absent: no limit. */
  readonly stopAtFailed?: Required<StopAtFailed> & Pick<AnswerCounts, 'answered'>;
  /**
   * For a job that several processes may run: whether an answer since `resumedAt` is usable. Until then, one slice is in progress, and it
   * sends the signal `proven`. Absent: all slices run in one process.
   */
  readonly isProven?: boolean;
  /** See `EnrichCsvInput.acceptWarnings`. */
  readonly acceptWarnings?: readonly string[];
}

/** Input of the activity that buys failed rows once more: the units whose first failed row is in the slices `slice` … `to - 1`. */
export interface RetryRowsInput extends SliceInput {
  readonly to: number;
}

/** Input of the activity that ends the runs at the service for slices of a cancelled job. */
export interface EndRunsInput extends Pick<SliceInput, 'staged' | 'freshness' | 'resumedAt'> {
  readonly slices: readonly (readonly [from: number, to: number])[];
  /** Time in ms after which runs that are still in progress are left running. */
  readonly withinMs: number;
}

export interface SliceResult {
  /** False: the time was up, and the next attempt does the rest of the slice. */
  readonly complete: boolean;
  readonly rows: number;
  readonly requests: number;
  readonly bought: number;
  /** Units bought in this attempt that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** The part of `costMicros` that counted under the caps of earlier runs of the job. */
  readonly earlierMicros: number;
  readonly unknownOutcomes: number;
  /** For a job with a limit of failed answers: the answers of this attempt. */
  readonly answers?: AnswerCounts;
  /** The answers of the job in the worker's process, if the slice stopped because too many of them failed. */
  readonly tooManyFailed?: AnswerCounts;
  /** The answers with nothing usable that stopped the slice. */
  readonly nothing?: RowsOfNothing;
  /** Warnings and notices of the service in the answers of this attempt, each code and path once. */
  readonly warnings?: readonly ServiceWarning[];
  /** Warnings in the first answers that stopped the slice. */
  readonly stoppedBy?: readonly ServiceWarning[];
}

/** Heartbeat details of a running slice. */
export interface SliceHeartbeat {
  readonly slice: number;
  readonly units: number;
  readonly landed: number;
  /** Units among `landed` that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** The part of `costMicros` that counted under the caps of earlier runs of the job. */
  readonly earlierMicros: number;
  readonly waitingFor: string | null;
}

/** Returns the heartbeat of a slice that has bought nothing yet. */
export const newHeartbeat = (slice: number): SliceHeartbeat => ({
  slice,
  units: 0,
  landed: 0,
  failed: 0,
  costMicros: 0,
  earlierMicros: 0,
  waitingFor: null,
});

/** The purchases of one run of a job, and its time. */
export type RunFigures = Pick<JobSummary, 'requests' | 'costMicros' | 'estimateMicros' | 'seconds'>;
