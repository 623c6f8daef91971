import type { PublishOutcome, PublishStep } from '../publish-request.js';
import type { Freshness, RetryFreshness } from '../purchase/freshness.js';
import type { SentWith } from '../purchase/sent-with.js';
import type { Json } from '../text/json.js';
import type { ColumnType } from './column-type.js';
import type { JobPhase, PauseReason } from './job-names.js';
import type { RowOperation } from './row-operation.js';
import type { CsvForm, WarehouseSummary } from './row-warehouse.js';
import type { SourceFields } from './source-fields.js';
import type { AnswerCounts, FailureLimit, RowsOfNothing, StopAtFailed } from './stop-at-failed.js';
import type { ServiceWarning } from './warnings.js';

/** How URLs without a scheme are completed; `none`: such URLs are refused. */
export const defaultSchemes = ['https', 'http', 'none'] as const;
export type DefaultScheme = (typeof defaultSchemes)[number];

/** The part of the request that all rows share, as sent. Unknown names pass through. */
export type ContentsJobOptions = { readonly [name: string]: Json };

/** Input of the `enrichCsv` workflow: plain JSON, usable from any Temporal SDK. */
export interface EnrichCsvInput extends SourceFields, SentWith {
  /** Path of the file on the worker's machine, `.gz` allowed. */
  readonly input: string;
  /**
   * Column with the URLs, for `contents`. Default: the column of the job's last run; in the first run, the column is
   * found by name and contents.
   */
  readonly urlColumn?: string;
  /**
   * Scheme that is added to URLs without a scheme. Default: the scheme of the job's last run; in the first run, rows with such URLs are
   * bad.
   */
  readonly defaultScheme?: DefaultScheme;
  /** The operation that is bought for each row; default `contents`. */
  readonly operation?: RowOperation;
  /**
   * For operations without a column of URLs: the part of the request that is rendered for each row. The texts in this part are Liquid
   * templates over the columns, such as `{ "query": "{{name}} official site" }`.
   */
  readonly template?: Json;
  /** For `agent`: number of rows that share one run, 1–100; default 1. See `StagedJob.rowsPerRun`. */
  readonly rowsPerRun?: number;
  /** Path of a DuckDB file, or address of a PostgreSQL database, to load into; default `out/<name>.duckdb` under the worker's directory. */
  readonly into?: string;
  /** Path of an enriched CSV that is written at the end. */
  readonly csv?: string;
  /** Delimiter of that CSV; default: the delimiter of the input. */
  readonly csvDelimiter?: string;
  /** Whether that CSV begins with a byte order mark; default: as the input does. */
  readonly csvBom?: boolean;
  /** Name of the job; default: the file's name without its extension. */
  readonly job?: string;
  /**
   * The part of the request that all rows share. With a template: the fields that the template does not have. Without a template: contents
   * options. Default: the options of the job's last run; in the first run, `{ "text": true }`.
   */
  readonly options?: ContentsJobOptions;
  readonly delimiter?: string;
  /** Encoding of an input without a byte order mark, such as `windows-1252`; default: UTF-8. */
  readonly encoding?: string;
  /**
   * Columns that together identify a row, so that a row keeps its answer when it is moved, or edited in a column that its request does not
   * use. Default: the key of the job's last run; an empty list: rows are matched by their cells.
   */
  readonly key?: readonly string[];
  /** Number of URLs in one request, 1–100; default 100. */
  readonly batch?: number;
  /** Number of first rows to buy. A later run of the job without a limit buys the rest. Default: all rows. */
  readonly limit?: number;
  readonly freshness?: Freshness;
  /** Maximum age in ms of an answer at the time of staging; older answers are bought again. Default: an answer never expires. */
  readonly refreshAfterMs?: number;
  /**
   * Buys again the rows that failed for a transient reason before this run. If `freshness` is set, `refreshAfterMs` and this field are
   * ignored.
   */
  readonly retryFailed?: boolean;
  /**
   * Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the job. If no worker of this
   * service is running, the job is refused.
   */
  readonly origin?: string;
  /**
   * The machine that has the input file, for workers on several machines that share a store. If that machine has no worker, the job is
   * refused.
   */
  readonly host?: string;
  /** A scheduled run ends as `stopped` where it would otherwise pause; the next scheduled run continues. */
  readonly scheduled?: boolean;
  /** The cap of this run. The job pauses (`budget`) before the cost of the run exceeds the cap. Default: no cap. */
  readonly maxCostDollars?: MaxCost;
  /** Age in seconds after which the agent run of a row is left running and the row fails as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunSeconds?: number;
  /**
   * At the end of a run, failed rows that may pass are bought once more if their failure cost nothing. With this field, rows whose failure
   * was or may have been charged are bought once more, too.
   */
  readonly redrive?: boolean;
  /** Records refused rows as failed, even if the service refuses all rows. Default: if all rows are refused, the job pauses (`request`). */
  readonly skipRefused?: boolean;
  /**
   * The job pauses (`failed`) once enough answers have come and too many of them failed; empty answers count as failed. `none` or absent:
   * failed answers do not pause the job.
   */
  readonly stopAtFailed?: FailureLimit;
  /**
   * Codes of warnings of the service, such as `IGNORED_FIELD`, that do not pause the job. The job pauses (`request`) at any other warning in
   * its first answers.
   */
  readonly acceptWarnings?: readonly string[];
  /** Publishes the view of the job after a complete run. */
  readonly publish?: PublishStep;
  /**
   * Names rows that are already staged, by `job` and `generation`; set by commands. The worker reads input, CSV, warehouse and request from
   * its own folder or store. Of the fields in this object only `limit` is used.
   */
  readonly staged?: StagedName & Partial<StagedJob>;
}

/** Dollars, or `none` for no cap. Null is not accepted, because JSON turns NaN into null. */
export type MaxCost = number | 'none';

/** Content of the signal `resume`. */
export interface Resumption {
  /** The cap of the current run; the cost since the start of the run counts. Absent: the cap is not changed. */
  readonly maxCostDollars?: MaxCost;
  /** See `EnrichCsvInput.skipRefused`; absent: not changed. */
  readonly skipRefused?: boolean;
  /** See `EnrichCsvInput.redrive`; absent: not changed. */
  readonly redrive?: boolean;
  /** See `EnrichCsvInput.stopAtFailed`; absent: not changed. In any case, the answers are counted from the resume on. */
  readonly stopAtFailed?: FailureLimit;
  /** Codes that are added to `EnrichCsvInput.acceptWarnings`. */
  readonly acceptWarnings?: readonly string[];
}

/** Names staged rows; `limit` is the number of rows that a run buys. */
export type StagedName = Pick<StagedJob, 'job' | 'generation' | 'limit'>;

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

/** Answer of the `progress` query. Amounts in micro-dollars, times in Unix ms. */
export interface JobProgress {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  /** True while a paused job still has requests in flight or loads answers: cost and rows are not final yet. */
  readonly landing?: boolean;
  /** Why the job is paused or failed, and how to resume the job; one sentence. */
  readonly message: string | null;
  readonly job: string;
  /** Number of rows of the input, and number of loaded rows. The rows of a slice in progress count once the slice is done. */
  readonly rows: number;
  readonly rowsDone: number;
  readonly slices: number;
  readonly slicesDone: number;
  /**
   * Number of loaded rows with an error. Loaded rows are counted at the start and at each pause; failed units of later slices are added.
   */
  readonly failed: number;
  /** Number of failed units that are being bought once more, before the end of the run; absent: none. */
  readonly retrying?: number;
  readonly requests: number;
  readonly costMicros: number;
  /**
   * The part of `costMicros` for runs at the service that an earlier run of the job started. Their estimates counted under the cap of that
   * run.
   */
  readonly earlierMicros: number;
  /** The cap of this run; null or absent: none. */
  readonly maxCostMicros?: number | null;
  /** The limit of failed answers, in answers; absent: none. */
  readonly stopAtFailed?: Required<StopAtFailed>;
  readonly unknownOutcomes: number;
  readonly startedAt: number;
}

/** Counts of units. */
export interface RetryCounts {
  readonly units: number;
  readonly failedAgain: number;
}

/** Result of the `enrichCsv` workflow. */
export interface JobSummary {
  readonly job: string;
  readonly name: string;
  readonly phase: JobPhase;
  /** The reason of a stopped run. `message` has the reason and what to do, in one sentence. */
  readonly stoppedFor?: PauseReason;
  readonly message?: string;
  /** Number of first rows that the run asked for; absent: all. */
  readonly limit?: number;
  readonly into: string;
  readonly csv: string | null;
  /** How the last step of the run ended; absent: the run has no such step, or was stopped before. */
  readonly published?: PublishOutcome;
  readonly warehouse: WarehouseSummary;
  /** Counts of the purchases of this run. */
  readonly requests: number;
  readonly costMicros: number;
  /** Units that failed in this run, also those that the service refused. Absent if the summary is not of a run. */
  readonly failed?: number;
  /** Warnings and notices of the service in the answers of this run, each code and path once. Absent: none. */
  readonly warnings?: readonly ServiceWarning[];
  /** Failed units that were bought once more before the end of the run, and how many of these failed again. Absent: none. */
  readonly retried?: RetryCounts;
  /** Price of the same requests by the price table. */
  readonly estimateMicros: number;
  /** Cost of all purchases for the job in the journal, over all runs of the job. */
  readonly totalCostMicros: number;
  readonly unknownOutcomes: number;
  readonly seconds: number;
}

/** The purchases of one run of a job, and its time. */
export type RunFigures = Pick<JobSummary, 'requests' | 'costMicros' | 'estimateMicros' | 'seconds'>;
