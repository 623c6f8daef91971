import type { Freshness, UnitOutcome, UnknownOutcome } from '../purchase/journal.js';
import type { Json } from '../text/json.js';

/** The facts of a row job that its warehouse keeps. */
export interface JobRecord {
  /** Stable id of the job, such as `brands-3f9a1c`. */
  readonly job: string;
  /** What a person calls it, and the name of its view: `brands`. */
  readonly name: string;
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  readonly operation: string;
  /** Absolute path, URL or `-`: where the rows came from. */
  readonly input: string;
  /** Column names of the input, in order, unique. */
  readonly columns: readonly string[];
  /** Identifies content and options of this run of the job: other content is another generation. */
  readonly generation: string;
  readonly options: Json;
  /** How the request of a row is made, where it is not its URL alone. */
  readonly request?: RowRequest;
  readonly rows: number;
  readonly slices: number;
}

/** How the request of each row is made beside the options that all share. */
export interface RowRequest {
  readonly template: Json;
  /** Rows that share a run; see `StagedJob.rowsPerRun`. */
  readonly rowsPerRun: number;
}

/**
 * A line of a staged slice (gzip JSON lines). Short names, because a million of them are read twice.
 * A row whose `k` is null can't be bought; `e` says why and `m` where.
 */
export interface StagedRow {
  /** Row number, from 1, in the order of the input. */
  readonly n: number;
  /** 16 hex digits over the row's cells: the same row in an edited file has the same. */
  readonly h: string;
  /** Unit key, or null. */
  readonly k: string | null;
  /** The unit: a URL, or the rendered part of the request as canonical JSON. */
  readonly u: string | null;
  /** Tag of a bad row: `INVALID_URL`, `MISSING_URL`, `MISSING_VALUE`, `INVALID_REQUEST`, `CSV_RAGGED`, … */
  readonly e: string | null;
  /** For a bad row: line, column and what is wrong, in words. */
  readonly m: string | null;
  /** True where an earlier row of the input has the same unit: what it cost stands there. */
  readonly d?: true;
  /** The cells as they came. */
  readonly i: readonly string[];
}

/** One slice, ready to be loaded. */
export interface LoadBatch {
  readonly job: string;
  readonly generation: string;
  readonly slice: number;
  /** Token of the attempt that loads: the ledger keeps the first. */
  readonly attempt: string;
  /** Path of the staged slice. */
  readonly rowsFile: string;
  /** Unit files that hold every unit of the slice, see `Journal.unitFiles`. */
  readonly unitFiles: readonly string[];
  /** The file holds some of the slice's rows alone: they are loaded, and the ledger gets no line. */
  readonly partial?: boolean;
  /** An answer is for several rows: one that it has no object for has failed (`MISSING_FROM_RESPONSE`). */
  readonly sharedAnswers?: boolean;
}

/** An answer that a warehouse holds. What it cost stands with the row that it was bought for. */
export interface KnownAnswer {
  readonly requestId: string | null;
  readonly fetchedAt: number;
  readonly outcome: UnitOutcome;
}

/** Rows by how they ended. Keys of `tags` are error tags. Amounts in micro-dollars. */
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

/** How a run of a job ended. Times in Unix ms, amounts in micro-dollars. */
export interface RunRecord
  extends Pick<WarehouseSummary, 'rows' | 'success' | 'error' | 'invalid' | 'missing' | 'vanished'> {
  readonly job: string;
  /** Id of the first run of its workflow. */
  readonly run: string;
  readonly scheduled: boolean;
  readonly generation: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly phase: 'done' | 'stopped';
  /** Why it stopped, for machines and in a sentence. */
  readonly reason: string | null;
  readonly message: string | null;
  readonly requests: number;
  readonly costMicros: number;
}

/** An answer in the rows of a job that was not understood. */
export interface MisreadAnswer {
  readonly key: string;
  readonly unit: string;
  readonly requestId: string | null;
  /** Unix ms. */
  readonly fetchedAt: number;
  /** `error`: nothing of it was understood; what came is kept with one of the units of its request. */
  readonly status: 'success' | 'error';
  /** JSON text, or null. */
  readonly response: string | null;
}

/**
 * A warehouse for row jobs. Its ledger is the truth about what is loaded. A slice and its ledger line are one transaction;
 * loading a slice twice is a no-op; rows are matched by number, hash and unit key, so nothing is ever doubled.
 */
export interface Sink {
  /**
   * Records the job and brings rows already loaded to the positions of the new generation, in one transaction: unchanged
   * rows are kept, rows of vanished content are marked, the rest is to be loaded. Called again for the same generation it
   * changes nothing. Answers with the numbers of the slices that have rows to load.
   */
  openJob(job: JobRecord, rowsFiles: readonly string[], freshness?: Freshness): Promise<readonly number[]>;
  /**
   * Compares the ledger with the rows that are there, and takes the line from slices that lack some or hold stale ones. Answers with
   * the slices to load, as `openJob` does. Rejects with `SinkUnusable` where the warehouse has another generation of the job, or none.
   */
  unloadedSlices(job: JobRecord, freshness?: Freshness): Promise<readonly number[]>;
  /** Whether any row of the job is loaded, of whatever generation. Never creates a file. */
  holdsRows(job: string): Promise<boolean>;
  /** Whether any answer is loaded, of whatever job. Never creates a file. */
  holdsAnswers(): Promise<boolean>;
  /** Those of these unit keys whose answer is loaded, of whatever job, and still counts, with its cost. Never creates a file. */
  known(keys: readonly string[], freshness?: Freshness): Promise<Map<string, number>>;
  /** The same answers, as a journal keeps them, the newest of each key; `operation` is left to the caller. */
  answers(keys: readonly string[], freshness?: Freshness): Promise<readonly KnownAnswer[]>;
  /** Numbers of slices of this generation in the ledger whose rows are all there; `null` where the job or its warehouse does not exist. Never creates a file. */
  loadedSlices(job: string, generation: string): Promise<readonly number[] | null>;
  /** Unit keys of this slice whose rows the warehouse lacks or holds stale. Each once. */
  pendingKeys(
    job: string,
    generation: string,
    slice: number,
    rowsFile: string,
    freshness?: Freshness,
  ): Promise<readonly string[]>;
  load(batch: LoadBatch, freshness?: Freshness): Promise<{ readonly rows: number; readonly already: boolean }>;
  /** Answers of the job that were paid for and not understood, wholly or in part, each once. */
  misreadAnswers(job: string): Promise<readonly MisreadAnswer[]>;
  /** Puts what these were read as, in a unit file, in the rows that have them; what they cost stays. Answers with the number of rows. */
  putAnswers(job: string, unitFile: string): Promise<number>;
  /** Adds or updates unknown outcomes of the job; the same one twice is one row. */
  recordUnknown(job: string, outcomes: readonly UnknownOutcome[]): Promise<void>;
  /** Writes down how a run ended; the same run again replaces it. */
  recordRun(run: RunRecord): Promise<void>;
  summary(job: string): Promise<WarehouseSummary>;
  /** Writes the enriched CSV: rows in their order, input columns untouched, result columns added. Replaces the file atomically. */
  exportCsv(job: string, file: string): Promise<{ readonly rows: number; readonly bytes: number }>;
  /**
   * Writes the rows as Parquet files `part-00000.parquet` … into a directory of their own, in their order, with the columns of the
   * job's view, values as they are. Replaces the directory as a whole; refuses one that holds anything else.
   */
  exportParquet(
    job: string,
    dir: string,
  ): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number }>;
  close(): Promise<void>;
}

/** The warehouse can't be used now because somebody else holds it: wait, then try again. */
export class SinkBusy extends Error {
  override readonly name = 'SinkBusy';
  constructor(
    message: string,
    /** Process that holds it, where known. */
    readonly pid: number | null,
  ) {
    super(message);
  }
}

/** The warehouse can't be used until a person changes something: wrong table, no permission, disk full, damaged file. */
export class SinkUnusable extends Error {
  override readonly name = 'SinkUnusable';
}

/** It is, for as much at once: a smaller part may fit into the memory of a warehouse. */
export class TooMuchAtOnce extends SinkUnusable {}
