import type { Freshness } from '../purchase/freshness.js';
import type { UnitOutcome, UnknownOutcome } from '../purchase/journal.js';
import type { Json } from '../text/json.js';

/** The facts of a row job that its warehouse keeps. */
export interface JobRecord {
  /** Stable id of the job, such as `brands-3f9a1c`. */
  readonly job: string;
  /** The name for people, and of its view: `brands`. */
  readonly name: string;
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  readonly operation: string;
  /** The source of the rows: an absolute path, a URL or `-`. */
  readonly input: string;
  /** Column names of the input, in order, unique. */
  readonly columns: readonly string[];
  /** Identifies the content and options of this run of the job: other content is another generation. */
  readonly generation: string;
  readonly options: Json;
  /** How the request of a row is made; absent where it is a URL. */
  readonly request?: RowRequest;
  readonly rows: number;
  readonly slices: number;
}

/** The row's part of a request, beside the options that all rows share. */
export interface RowRequest {
  readonly template: Json;
  /** Rows that share a run; see `StagedJob.rowsPerRun`. */
  readonly rowsPerRun: number;
}

/**
 * A line of a staged slice (gzip JSON lines). Names are short, because there may be millions of lines. A row whose `k` is null
 * cannot be bought; `e` is the reason and `m` its message.
 */
export interface StagedRow {
  /** Row number, from 1, in the order of the input. */
  readonly n: number;
  /** 16 hex digits of the hash of the row's cells: a row keeps its hash when the file is edited elsewhere. */
  readonly h: string;
  /** Unit key, or null. */
  readonly k: string | null;
  /** The unit: a URL, or the rendered part of the request as canonical JSON. */
  readonly u: string | null;
  /** Tag of a bad row: `INVALID_URL`, `MISSING_URL`, `MISSING_VALUE`, `INVALID_REQUEST`, `CSV_RAGGED`, … */
  readonly e: string | null;
  /** For a bad row: line, column and problem as a text. */
  readonly m: string | null;
  /** True where an earlier row of the input has the same unit: the cost is in that earlier row. */
  readonly d?: true;
  /** The cells, unchanged. */
  readonly i: readonly string[];
}

/** One slice, ready to be loaded. */
export interface LoadBatch {
  readonly job: string;
  readonly generation: string;
  readonly slice: number;
  /** Token of the loading attempt; the ledger keeps that of the first one. */
  readonly attempt: string;
  /** Path of the staged slice. */
  readonly rowsFile: string;
  /** Unit files that hold every unit of the slice, see `Journal.unitFiles`. */
  readonly unitFiles: readonly string[];
  /** The file has only some of the slice's rows: they are loaded, and the ledger gets no line. */
  readonly partial?: boolean;
  /** An answer is for several rows: a row without an object in it has failed (`MISSING_FROM_RESPONSE`). */
  readonly sharedAnswers?: boolean;
}

/** An answer in a warehouse. Only the row for which the answer was bought has its cost. */
export interface KnownAnswer {
  readonly requestId: string | null;
  readonly fetchedAt: number;
  readonly outcome: UnitOutcome;
}

/** Counts of rows by status. Keys of `tags` are error tags. */
export interface WarehouseSummary {
  readonly rows: number;
  readonly success: number;
  readonly error: number;
  readonly invalid: number;
  /** Rows of this generation that are not loaded yet. */
  readonly missing: number;
  /** Rows of earlier contents of the file that are no longer in it; kept, with `vanished_at`. */
  readonly vanished: number;
  readonly tags: Readonly<Record<string, number>>;
}

/** Loaded rows of a job; rows with stale answers are not counted. */
export interface LoadedRows {
  /** Rows with an error, in all slices. */
  readonly failed: number;
  /** Loaded rows of the slices without a line in the ledger. */
  readonly partial: readonly (readonly [slice: number, rows: number])[];
}

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
  /** Why the run stopped, as a code and as a sentence. */
  readonly reason: string | null;
  readonly message: string | null;
  readonly requests: number;
  readonly costMicros: number;
}

/** An answer in the rows of a job with misread fields. */
export interface MisreadAnswer {
  readonly key: string;
  readonly unit: string;
  readonly requestId: string | null;
  /** Unix ms. */
  readonly fetchedAt: number;
  /** `error`: the whole answer is unreadable; its text is kept with one of the units of its request. */
  readonly status: 'success' | 'error';
  /** JSON text, or null. */
  readonly response: string | null;
}

/**
 * A warehouse for row jobs. Its ledger is the truth about what is loaded. A slice and its ledger line are one transaction; loading a slice
 * twice is a no-op. Rows are matched by number, hash and unit key, so that no row is loaded twice.
 */
export interface RowWarehouse {
  /**
   * Records the job and moves loaded rows to their positions in the new generation, in one transaction: unchanged rows are kept, rows
   * that are no longer in the input are marked, the others are to be loaded. Repeated calls for a generation change nothing. Returns the
   * numbers of the slices with rows to load.
   */
  openJob(job: JobRecord, rowsFiles: readonly string[], freshness?: Freshness): Promise<readonly number[]>;
  /**
   * Compares the ledger with the loaded rows, and removes the lines of slices with missing or stale rows. Returns the numbers of the
   * slices to load, like `openJob`. Rejects with `WarehouseUnusable` where the warehouse has another generation of the job, or none.
   */
  unloadedSlices(job: JobRecord, freshness?: Freshness): Promise<readonly number[]>;
  /** Whether any row of the job is loaded, of any generation. Never creates a file. */
  holdsRows(job: string): Promise<boolean>;
  /** Whether any answer is loaded, of any job. Never creates a file. */
  holdsAnswers(): Promise<boolean>;
  /** Returns the costs of those units whose answer is loaded, for any job, and fresh enough. Never creates a file. */
  known(keys: readonly string[], freshness?: Freshness): Promise<Map<string, number>>;
  /** Like `known`, but returns the answers in the form of the journal, the newest of each key; the caller sets `operation`. */
  answers(keys: readonly string[], freshness?: Freshness): Promise<readonly KnownAnswer[]>;
  /** Numbers of the slices of this generation in the ledger whose rows are all loaded; `null` where the job or its warehouse does not exist. Never creates a file. */
  loadedSlices(job: string, generation: string): Promise<readonly number[] | null>;
  /** Counts the rows of this generation that are loaded. */
  loadedRows(job: string, generation: string, freshness?: Freshness): Promise<LoadedRows>;
  /** Unit keys of this slice whose rows are missing or stale in the warehouse, each once. */
  pendingKeys(
    job: string,
    generation: string,
    slice: number,
    rowsFile: string,
    freshness?: Freshness,
  ): Promise<readonly string[]>;
  load(batch: LoadBatch, freshness?: Freshness): Promise<{ readonly rows: number; readonly already: boolean }>;
  /** Paid answers of the job that are unreadable or have misread fields, each once. */
  misreadAnswers(job: string): Promise<readonly MisreadAnswer[]>;
  /** Replaces answers in their rows by those in a unit file; their costs stay. Returns the number of rows. */
  putAnswers(job: string, unitFile: string): Promise<number>;
  /** Adds or updates unknown outcomes of the job, one row each. */
  recordUnknown(job: string, outcomes: readonly UnknownOutcome[]): Promise<void>;
  /** Records how a run ended; the same run again replaces its record. */
  recordRun(run: RunRecord): Promise<void>;
  /** Rejects with `JobNotLoaded` where the job or its warehouse does not exist. Never creates a file. */
  summary(job: string): Promise<WarehouseSummary>;
  /** Writes the enriched CSV: rows in their order, input columns unchanged, result columns added. Replaces the file in one step. */
  exportCsv(job: string, file: string): Promise<{ readonly rows: number; readonly bytes: number }>;
  /**
   * Writes the rows as Parquet files `part-00000.parquet` … into their own directory, in their order, with the columns and values of the
   * job's view. Replaces the directory in one step; refuses a directory with other files.
   */
  exportParquet(
    job: string,
    dir: string,
  ): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number }>;
  close(): Promise<void>;
}

/** Another process holds the warehouse: wait, then retry. */
export class WarehouseBusy extends Error {
  override readonly name = 'WarehouseBusy';
  constructor(
    message: string,
    /** The process that holds the warehouse, where known. */
    readonly pid: number | null,
  ) {
    super(message);
  }
}

/** The warehouse cannot be used until a person fixes something: wrong table, no permission, disk full, damaged file. */
export class WarehouseUnusable extends Error {
  override readonly name = 'WarehouseUnusable';
}

/** The warehouse has no rows of the job: nothing was loaded yet, or its tables are gone. */
export class JobNotLoaded extends WarehouseUnusable {}

/** The load is too large at once: a smaller part may fit into the memory of the warehouse. */
export class TooMuchAtOnce extends WarehouseUnusable {}
