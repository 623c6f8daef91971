import type { Freshness } from '../purchase/journal.js';
import type { SpendCap } from '../purchase/spend.js';
import type { Json } from '../text/json.js';
import type { RowOperation } from './row-operation.js';
import type { WarehouseSummary } from './sink.js';

/** The names by which workflows, signals and queries are known on the wire. They never change. */
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

/** The memo of workflows that our own code starts with an input it has checked, or kept from an earlier start. */
export const startedByUs = { startedBy: 'searchflow' } as const;

export const DEFAULT_TASK_QUEUE = 'searchflow';

/** Ids of jobs and of what they staged become names of files, of folders and of segments: nothing in one leads elsewhere. */
export const ID_PATTERN = /^[\w-][\w.-]{0,199}$/;
export const isJobId = (id: unknown): id is string => typeof id === 'string' && ID_PATTERN.test(id);

/**
 * Why a job waits: a person said so, credits ended, a budget is used up, the key was refused, a block of more than an hour, or
 * answers that are not the service's.
 */
export type PauseReason = 'person' | 'credits' | 'budget' | 'key' | 'rate' | 'service';

/**
 * `stopped`: a scheduled run that met what others pause for, or a job whose command was stopped. Its id is free; the next run, the
 * same command or `resume` continues it.
 */
export type JobPhase = 'planning' | 'running' | 'paused' | 'done' | 'stopped' | 'failed' | 'cancelled';

/** Workflow id of a job: one at a time for a job, whoever starts it. */
export const workflowIdOf = (job: string): string => `searchflow-${job}`;

/** The job of a workflow of ours, by the id that the command gives it; other ids as they are. */
export const jobOfWorkflow = (workflowId: string): string => workflowId.replace(/^searchflow-/, '');

/** Whether something of this phase may go on. */
export const isUnderWay = (phase: JobPhase): boolean => ['planning', 'running', 'paused'].includes(phase);

/** What is done with URLs that have no scheme; `none`: they are refused. */
export const defaultSchemes = ['https', 'http', 'none'] as const;
export type DefaultScheme = (typeof defaultSchemes)[number];

/** Options of a job, the part of the request that all its rows share, as they reach the service. Unknown names pass through. */
export type ContentsJobOptions = { readonly [name: string]: Json };

/** Input of the `enrichCsv` workflow: plain JSON, usable from any Temporal SDK. */
export interface EnrichCsvInput {
  /** Path of the CSV file as the worker sees it, `.gz` allowed. */
  readonly input: string;
  /** Column that holds the URLs, for `contents` and `findSimilar`; default: that of the job's last run, else found by name and contents. */
  readonly urlColumn?: string;
  /** Scheme for URLs that have none; default: that of the job's last run, else such rows are invalid. */
  readonly defaultScheme?: DefaultScheme;
  /** What is bought for each row; default `contents`. */
  readonly operation?: RowOperation;
  /**
   * For the other operations: the part of the request that is made of each row. Its texts are Liquid templates over the columns,
   * such as `{ "query": "{{name}} official site" }`.
   */
  readonly template?: Json;
  /** For `agent`: rows that one run gets as `input.data`, 1–100; default 1. See `StagedJob.rowsPerRun`. */
  readonly rowsPerRun?: number;
  /** For `research`: `v0` or `v1` (public facts 6). */
  readonly variant?: string;
  /** DuckDB file to load into; default `out/<name>.duckdb` under the worker's directory. */
  readonly into?: string;
  /** Also write the enriched CSV here when done. */
  readonly csv?: string;
  /** Name of the job; default: the file's name without endings. */
  readonly job?: string;
  /** What all rows ask for alike: contents options (default: those of the job's last run, else `{ "text": true }`), or the rest of the request beside the template. */
  readonly options?: ContentsJobOptions;
  readonly delimiter?: string;
  /** URLs a request, 1–100; default 100. */
  readonly batch?: number;
  /** Asks for the first rows alone; the same job without it asks for the rest. Default: all rows. */
  readonly limit?: number;
  readonly freshness?: Freshness;
  /** Answers that landed longer ago than this (ms) when the rows are staged are bought again. Default: an answer never expires. */
  readonly refreshAfterMs?: number;
  /** Rows that failed for a passing reason before the rows are staged are asked for again. `freshness` wins over both. */
  readonly retryFailed?: boolean;
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  /** Where workers on several machines share a store: name of the machine that has the file. */
  readonly host?: string;
  /** Ends as `stopped` instead of waiting for a person: a scheduled run, which the next one follows. */
  readonly scheduled?: boolean;
  /** What this run of the job may cost: it pauses (`budget`) before it costs more. Default: no bound. */
  readonly maxCostDollars?: MaxCost;
  /** A run of a row (`agent`, `research`) that takes longer is left running, and the row fails as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunSeconds?: number;
  /**
   * Names rows that were staged already (the command does): by `job` and `generation`. A worker asks its folder or store for file, CSV,
   * warehouse and request of these; but for `limit`, the run's own, it believes nothing else here.
   */
  readonly staged?: StagedName & Partial<StagedJob>;
}

/** Dollars, or `none` for no bound. Not null: that is what JSON makes of a number gone wrong. */
export type MaxCost = number | 'none';

/** What the signal `resume` may carry. */
export interface Resumption {
  /** What the run of the job may cost from its start; absent leaves it as it is. */
  readonly maxCostDollars?: MaxCost;
}

/** Names staged rows, and says how many of them a run asks for. */
export type StagedName = Pick<StagedJob, 'job' | 'generation' | 'limit'>;

/** What staging found and wrote: the job's rows are in slices, its source is no longer needed. */
export interface StagedJob {
  readonly job: string;
  readonly name: string;
  readonly origin: string;
  readonly operation: string;
  readonly input: string;
  readonly into: string;
  readonly columns: readonly string[];
  /** The column of URLs; null where each row's request comes from a template. */
  readonly unitColumn: string | null;
  /** Scheme that URLs without one were given; absent: none. */
  readonly defaultScheme?: 'http' | 'https';
  readonly options: ContentsJobOptions;
  /** The part of the request that is made of each row; absent where that is the URL. */
  readonly template?: Json;
  /**
   * Rows that one agent run gets together, where that is more than one: each is an object of `input.data` with a `row_id`, the
   * output is asked for as a list `rows` whose objects name the same, and is kept with each of the rows.
   */
  readonly rowsPerRun?: number;
  readonly variant?: string;
  /** Units a request. */
  readonly batch: number;
  /** Rows from the first on that are asked for; absent: all. What is staged is the whole input all the same. */
  readonly limit?: number;
  readonly generation: string;
  readonly rows: number;
  readonly badRows: number;
  readonly distinctUnits: number;
  readonly slices: number;
  /** Rows of every slice but the last. */
  readonly rowsPerSlice: number;
  /** Slices in flight at once: enough requests to fill the limit. */
  readonly window: number;
  /** Directory of the slices, on the machine that staged them; see the port `Stages`. */
  readonly stageDir: string;
  /** Where workers on several machines share a store and the warehouse is a file: name of the machine that has the file. */
  readonly host?: string;
}

/** Rows of a job that are asked for. */
export const wantedRows = ({ rows, limit = rows }: Pick<StagedJob, 'rows' | 'limit'>): number => Math.min(rows, limit);

/** Slices that hold them: the last of these may hold others, too. */
export function wantedSlices(staged: Pick<StagedJob, 'rows' | 'limit' | 'slices' | 'rowsPerSlice'>): number {
  return staged.limit === undefined ? staged.slices : Math.ceil(wantedRows(staged) / staged.rowsPerSlice);
}

/** Rows of a slice that are asked for. */
export function wantedRowsOf(
  staged: Pick<StagedJob, 'rows' | 'limit' | 'slices' | 'rowsPerSlice'>,
  slice: number,
): number {
  const end = slice < staged.slices - 1 ? (slice + 1) * staged.rowsPerSlice : staged.rows;
  return Math.max(0, Math.min(end, wantedRows(staged)) - slice * staged.rowsPerSlice);
}

/** Input of the activity that brings one slice from rows to loaded. */
export interface SliceInput {
  readonly staged: StagedJob;
  readonly slice: number;
  readonly freshness?: Freshness;
  /** Whether the warehouse may hold some of the slice's rows already. */
  readonly carried: boolean;
  /** Whether the warehouse may hold answers that the journal lacks. */
  readonly adopts?: boolean;
  /** Unix ms of the job's start or last resume: a refusal of the account (401, 402) from before then is over. */
  readonly resumedAt: number;
  /** What the job may cost with all that it has cost before. */
  readonly cap?: SpendCap;
  /** A run of a row that takes longer is left running, and the row ends as `RUN_OVERDUE`; default 6 hours. */
  readonly maxRunMs?: number;
  /** What the job had cost when this run of it began, in micro-dollars: a worker's own bound counts from there. */
  readonly spentBeforeMicros?: number;
}

/** Input of the activity that ends what runs at the service for some slices of a cancelled job. */
export interface EndRunsInput extends Pick<SliceInput, 'staged' | 'freshness' | 'resumedAt'> {
  readonly slices: readonly (readonly [from: number, to: number])[];
  /** Runs that have not ended after so many ms are left running; absent: they are waited for. */
  readonly withinMs?: number;
}

export interface SliceResult {
  /** False: time was up, the rest of the slice is handed back. */
  readonly complete: boolean;
  readonly rows: number;
  readonly requests: number;
  readonly bought: number;
  /** Units bought now that ended in an error. */
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

/** What the `progress` query answers. Amounts in micro-dollars, times Unix ms. */
export interface JobProgress {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  /** Paused, but something is in flight still: what was spent is not summed up yet. */
  readonly landing?: boolean;
  /** One sentence for a person: why it is paused or failed, and the way out. */
  readonly message: string | null;
  readonly job: string;
  /** Rows of the input, and those whose slice is loaded. */
  readonly rows: number;
  readonly rowsDone: number;
  readonly slices: number;
  readonly slicesDone: number;
  /** Units of the slices done that ended in an error, where they were bought in this run. */
  readonly failed: number;
  readonly requests: number;
  readonly costMicros: number;
  /** What this run may cost; null or absent: no bound. */
  readonly maxCostMicros?: number | null;
  readonly unknownOutcomes: number;
  readonly startedAt: number;
}

/** Result of the `enrichCsv` workflow. */
export interface JobSummary {
  readonly job: string;
  readonly name: string;
  readonly phase: JobPhase;
  /** Of a run that stopped: why, and the way out in a sentence. */
  readonly stoppedFor?: PauseReason;
  readonly message?: string;
  /** Rows from the first on that were asked for; absent: all. */
  readonly limit?: number;
  readonly into: string;
  readonly csv: string | null;
  readonly warehouse: WarehouseSummary;
  /** Bought in this run of the job. */
  readonly requests: number;
  readonly costMicros: number;
  /** Price of the same requests by the price table. Absent where an older worker counted. */
  readonly estimateMicros?: number;
  /** All that the journal holds for the job, over all its runs. */
  readonly totalCostMicros: number;
  readonly unknownOutcomes: number;
  readonly seconds: number;
}
