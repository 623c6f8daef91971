import type { Freshness } from '../purchase/freshness.js';
import type { SpendCap } from '../purchase/spend.js';
import type { Json } from '../text/json.js';
import type { RowOperation } from './row-operation.js';
import type { WarehouseSummary } from './row-warehouse.js';

/** Wire names of workflows, signals and queries. They never change. */
export const workflowNames = {
  enrichCsv: 'enrichCsv',
  runAgentRows: 'runAgentRows',
  runAgent: 'runAgent',
  runResearch: 'runResearch',
  syncEvents: 'syncEvents',
  backfillEvents: 'backfillEvents',
  scheduledJob: 'scheduledJob',
  workerPresence: 'workerPresence',
} as const;
export const signalNames = { pause: 'pause', resume: 'resume', handOver: 'handOver', stop: 'stop' } as const;
export const queryNames = { progress: 'progress', holder: 'holder' } as const;

/** The memo of workflows that this program starts itself: their input was checked here, or kept from an earlier start. */
export const startedByUs = { startedBy: 'searchflow' } as const;

export const DEFAULT_TASK_QUEUE = 'searchflow';

/** Ids of jobs and stages become names of files, folders and segments, so they must not contain a path. */
export const ID_PATTERN = /^[\w-][\w.-]{0,199}$/;
export const isJobId = (id: unknown): id is string => typeof id === 'string' && ID_PATTERN.test(id);

/**
 * Why a job is paused: by a person, no credits, an exhausted budget, a refused key, a block of more than an hour, answers that are not
 * the service's, or a request that the service refuses for every row.
 */
export type PauseReason = 'person' | 'credits' | 'budget' | 'key' | 'rate' | 'service' | 'request';

/**
 * `stopped`: a scheduled run that met a reason to pause, or a job whose command was stopped. Its id is free; the next run, the same
 * command or `resume` continues it.
 */
export type JobPhase = 'planning' | 'running' | 'paused' | 'done' | 'stopped' | 'failed' | 'cancelled';

/** Workflow id of a job, so that a job runs once at a time. */
export const workflowIdOf = (job: string): string => `searchflow-${job}`;

/** The job of a workflow id that a command made; other ids are returned unchanged. */
export const jobOfWorkflow = (workflowId: string): string => workflowId.replace(/^searchflow-/, '');

/** Whether the work has not ended. */
export const isUnderWay = (phase: JobPhase): boolean => ['planning', 'running', 'paused'].includes(phase);

/** How URLs without a scheme are completed; `none`: they are refused. */
export const defaultSchemes = ['https', 'http', 'none'] as const;
export type DefaultScheme = (typeof defaultSchemes)[number];

/** The part of the request that all rows share, as it is sent. Unknown names pass through. */
export type ContentsJobOptions = { readonly [name: string]: Json };

/** Input of the `enrichCsv` workflow: plain JSON, usable from any Temporal SDK. */
export interface EnrichCsvInput {
  /** Path of the CSV file on the worker's machine, `.gz` allowed. */
  readonly input: string;
  /** Column with the URLs, for `contents` and `findSimilar`; default: that of the job's last run, else found by name and contents. */
  readonly urlColumn?: string;
  /** Scheme for URLs without one; default: that of the job's last run, else such rows are bad. */
  readonly defaultScheme?: DefaultScheme;
  /** The operation that is bought for each row; default `contents`. */
  readonly operation?: RowOperation;
  /**
   * For the other operations: the part of the request that is rendered for each row. Its texts are Liquid templates over the columns,
   * such as `{ "query": "{{name}} official site" }`.
   */
  readonly template?: Json;
  /** For `agent`: rows in `input.data` of one run, 1–100; default 1. See `StagedJob.rowsPerRun`. */
  readonly rowsPerRun?: number;
  /** For `research`: `v0` or `v1` (API reference: /research). */
  readonly variant?: string;
  /** DuckDB file to load into; default `out/<name>.duckdb` under the worker's directory. */
  readonly into?: string;
  /** Path of an enriched CSV that is written at the end. */
  readonly csv?: string;
  /** Name of the job; default: the file's name without its extension. */
  readonly job?: string;
  /** The part of the request that all rows share: contents options (default: those of the job's last run, else `{ "text": true }`), or the rest of the request beside the template. */
  readonly options?: ContentsJobOptions;
  readonly delimiter?: string;
  /** URLs a request, 1–100; default 100. */
  readonly batch?: number;
  /** Buys only the first rows; the same job without it buys the rest. Default: all rows. */
  readonly limit?: number;
  readonly freshness?: Freshness;
  /** Answers that landed longer ago than this (ms) at the time of staging are bought again. Default: an answer never expires. */
  readonly refreshAfterMs?: number;
  /**
   * Buys again the rows that failed for a transient reason before this run. `freshness` takes precedence over `refreshAfterMs` and this.
   */
  readonly retryFailed?: boolean;
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run it; without any of this one it is refused. */
  readonly origin?: string;
  /** For workers on several machines that share a store: the machine that has the file. Refused where it has no worker. */
  readonly host?: string;
  /** Ends as `stopped` instead of pausing: the next scheduled run continues. */
  readonly scheduled?: boolean;
  /** The cap of this run of the job: the job pauses (`budget`) before it costs more. Default: no cap. */
  readonly maxCostDollars?: MaxCost;
  /** Age in seconds after which a run of a row (`agent`, `research`) is left running and the row fails as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunSeconds?: number;
  /** Records refused rows as failed even if the service refuses all of them; default: the job then pauses (`request`). */
  readonly skipRefused?: boolean;
  /**
   * Names rows that are already staged, by `job` and `generation`; set by commands. The worker reads file, CSV, warehouse and request from
   * its own folder or store; of the fields here only `limit` is used.
   */
  readonly staged?: StagedName & Partial<StagedJob>;
}

/** Dollars, or `none` for no cap. Not null: JSON turns NaN into null. */
export type MaxCost = number | 'none';

/** Content of the signal `resume`. */
export interface Resumption {
  /** The cap of the run of the job, counted from its start; absent: not changed. */
  readonly maxCostDollars?: MaxCost;
  /** See `EnrichCsvInput.skipRefused`; absent: not changed. */
  readonly skipRefused?: boolean;
}

/** Names staged rows, and the number of rows that a run asks for. */
export type StagedName = Pick<StagedJob, 'job' | 'generation' | 'limit'>;

/** The result of staging: the job's rows are in slices, and its source is no longer needed. */
export interface StagedJob {
  readonly job: string;
  readonly name: string;
  readonly origin: string;
  readonly operation: string;
  readonly input: string;
  readonly into: string;
  readonly columns: readonly string[];
  /** The column of URLs; null where requests come from a template. */
  readonly unitColumn: string | null;
  /** Scheme that was added to URLs without one; absent: none. */
  readonly defaultScheme?: 'http' | 'https';
  readonly options: ContentsJobOptions;
  /** The part of the request that is rendered for each row; absent where that is the URL. */
  readonly template?: Json;
  /**
   * Number of rows that share one agent run, if there are several. Each row is an object of `input.data` with a `row_id`. The output must
   * be a list `rows` of objects with these ids; it is kept with each row.
   */
  readonly rowsPerRun?: number;
  readonly variant?: string;
  /** Units a request. */
  readonly batch: number;
  /** Number of first rows to buy; absent: all. The stage always has the whole input. */
  readonly limit?: number;
  readonly generation: string;
  readonly rows: number;
  readonly badRows: number;
  readonly distinctUnits: number;
  readonly slices: number;
  /** Rows of every slice but the last. */
  readonly rowsPerSlice: number;
  /** Slices in progress at once: enough requests to use the whole rate limit. */
  readonly window: number;
  /** Directory of the slices, on the machine that staged them; see the port `Stages`. */
  readonly stageDir: string;
  /** For workers on several machines and a warehouse that is a file: the machine that has the file. */
  readonly host?: string;
}

/** The number of rows to buy. */
export const wantedRows = ({ rows, limit = rows }: Pick<StagedJob, 'rows' | 'limit'>): number => Math.min(rows, limit);

/** The number of slices with rows to buy; the last one may also have rows after the limit. */
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
  readonly freshness?: Freshness;
  /** Whether the warehouse may hold some of the slice's rows already. */
  readonly carried: boolean;
  /** Whether the warehouse may hold answers that the journal lacks. */
  readonly adopts?: boolean;
  /** Start or last resume of the job in Unix ms: earlier refusals of the account (401, 402) do not count. */
  readonly resumedAt: number;
  /** The cap of the job; the cost of its earlier runs counts, too. */
  readonly cap?: SpendCap;
  /** Age in ms after which a run of a row is left running and the row fails as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunMs?: number;
  /** See `EnrichCsvInput.skipRefused`. */
  readonly skipRefused?: boolean;
  /** Cost of the job before this run, in micro-dollars: the worker's own cap is for the cost of one run. */
  readonly spentBeforeMicros?: number;
}

/** Input of the activity that ends the runs at the service for slices of a cancelled job. */
export interface EndRunsInput extends Pick<SliceInput, 'staged' | 'freshness' | 'resumedAt'> {
  readonly slices: readonly (readonly [from: number, to: number])[];
  /** Milliseconds after which runs that have not ended are left running; absent: the activity waits for them. */
  readonly withinMs?: number;
}

export interface SliceResult {
  /** False: time was up, the rest of the slice is left to the next attempt. */
  readonly complete: boolean;
  readonly rows: number;
  readonly requests: number;
  readonly bought: number;
  /** Units bought in this attempt that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  readonly unknownOutcomes: number;
}

/** Heartbeat details of a running slice. */
export interface SliceHeartbeat {
  readonly slice: number;
  readonly units: number;
  readonly landed: number;
  /** Units among `landed` that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  readonly waitingFor: string | null;
}

/** Answer of the `progress` query. Amounts in micro-dollars, times in Unix ms. */
export interface JobProgress {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  /** Paused while requests are still in flight or answers are being loaded: cost and rows are not final yet. */
  readonly landing?: boolean;
  /** Why the job is paused or failed, and how to resume it; one sentence. */
  readonly message: string | null;
  readonly job: string;
  /** Rows of the input, and those that are loaded; a slice in progress counts once it is done. */
  readonly rows: number;
  readonly rowsDone: number;
  readonly slices: number;
  readonly slicesDone: number;
  /** Loaded rows with an error, counted at the start and at each pause; failed units of later slices are added. */
  readonly failed: number;
  readonly requests: number;
  readonly costMicros: number;
  /** The cap of this run; null or absent: none. */
  readonly maxCostMicros?: number | null;
  readonly unknownOutcomes: number;
  readonly startedAt: number;
}

/** Result of the `enrichCsv` workflow. */
export interface JobSummary {
  readonly job: string;
  readonly name: string;
  readonly phase: JobPhase;
  /** For a stopped run: the reason. `message` has it as a sentence, with what to do. */
  readonly stoppedFor?: PauseReason;
  readonly message?: string;
  /** Number of first rows that the run asked for; absent: all. */
  readonly limit?: number;
  readonly into: string;
  readonly csv: string | null;
  readonly warehouse: WarehouseSummary;
  /** Purchases of this run of the job. */
  readonly requests: number;
  readonly costMicros: number;
  /** Price of the same requests by the price table. Absent from older workers. */
  readonly estimateMicros?: number;
  /** Cost of all purchases for the job in the journal, over all its runs. */
  readonly totalCostMicros: number;
  readonly unknownOutcomes: number;
  readonly seconds: number;
}
