import type { StagedJob } from '../job-entry-schemas.js';
import type { RetryFreshness, RetryRule } from '../purchase/freshness.js';
import type { UnitOutcome, UnknownOutcome } from '../purchase/journal.js';
import type { PublishOutcome, SchemaChange, WarehouseSummary } from '../row-job-schemas.js';
import type { Json } from '../text/json.js';
import type { FailedFilter, FailedRows, RowName, RowPlace, RowState } from './loaded-row.js';
import type { FiguresQuery, RecordedRun, RowFigures, RunRecord } from './row-figures.js';

export type { RunRecord } from './row-figures.js';

/** The facts of a row job that its warehouse keeps. `request`: how the request of a row is made; absent if the unit of a row is a URL. */
export interface JobRecord
  extends Pick<StagedJob, 'job' | 'name' | 'origin' | 'operation' | 'input' | 'columns' | 'types' | 'generation'>,
    Pick<StagedJob, 'rows' | 'slices'> {
  readonly options: Json;
  readonly request?: RowRequest;
}

export function jobRecord(staged: StagedJob): JobRecord {
  const { job, name, origin, operation, input, columns, generation, options, rows, slices } = staged;
  const { template = null, rowsPerRun = 1, types } = staged;
  const request = template === null && rowsPerRun === 1 ? {} : { request: { template, rowsPerRun } };
  return { job, name, origin, operation, input, columns, generation, options, ...request, rows, slices, types };
}

/** The part of a request that comes from the row; the other part is the options that all rows share. */
export interface RowRequest {
  readonly template: Json;
  /** Number of rows that share a run; see `StagedJob.rowsPerRun`. */
  readonly rowsPerRun: number;
}

/**
 * A line of a staged slice (gzip JSON lines). Names are short, because there may be millions of lines. A row whose `k` is null cannot be
 * bought; `e` is the error tag and `m` the message.
 */
export interface StagedRow {
  /** Row number, from 1, in the order of the input. */
  readonly n: number;
  /**
   * 16 hex digits of the hash of the row's cells. In a job with a key, 16 hex digits of the hash of the key come first: `identityOf` in SQL
   * (see `row-sql`) is the same for all versions of a row.
   */
  readonly h: string;
  /** Unit key, or null. */
  readonly k: string | null;
  /** The unit: a URL, or the rendered part of the request as canonical JSON. */
  readonly u: string | null;
  /** Tag of a bad row: `INVALID_URL`, `MISSING_URL`, `MISSING_VALUE`, `INVALID_REQUEST`, `CSV_RAGGED`, `JSON_INVALID`, … */
  readonly e: string | null;
  /** For a bad row: line, column and problem as a text. */
  readonly m: string | null;
  /** True if an earlier row of the input has the same unit. The cost is recorded at the earlier row. */
  readonly d?: true;
  /** The cells: the texts of a CSV, unchanged, or canonical texts of values and null. */
  readonly i: readonly (string | null)[];
}

/** Answers for rows of a job. */
interface AnswerBatch {
  readonly job: string;
  readonly generation: string;
  /** Unit files that hold the unit of every row, see `Journal.unitFiles`. */
  readonly unitFiles: readonly string[];
}

/** One slice, ready to be loaded. */
export interface LoadBatch extends AnswerBatch {
  readonly slice: number;
  /** Token of the loading attempt. The ledger keeps the token of the first attempt. */
  readonly attempt: string;
  /** Path of the staged slice. */
  readonly rowsFile: string;
  /** Whether `rowsFile` has only some rows of the slice. Such rows are loaded without a line in the ledger. */
  readonly partial?: boolean;
  /** Whether one answer is for several rows. A row without an object in the answer fails as `MISSING_FROM_RESPONSE`. */
  readonly sharedAnswers?: boolean;
}

/** Failed units whose rows get new answers. The rows of a unit may be in several slices. */
export interface RetryBatch extends AnswerBatch {
  readonly keys: readonly string[];
}

/** An answer in a warehouse. Only the row for which the answer was bought has the cost. */
export interface KnownAnswer {
  readonly requestId: string | null;
  readonly fetchedAt: number;
  readonly outcome: UnitOutcome;
}

/** Loaded rows of a job; rows with stale answers are not counted. */
export interface LoadedRows {
  /** Rows with an error, in all slices. */
  readonly failed: number;
  /** Number of loaded rows in each slice that has no line in the ledger. */
  readonly partial: readonly (readonly [slice: number, rows: number])[];
}

/** The failed rows that a run buys once more before its end. */
export interface RetryPass {
  /** Slices that have such rows. */
  readonly slices: readonly number[];
  readonly units: number;
  readonly tags: readonly string[];
  /** Unix ms; answers that landed since are not bought again. */
  readonly before: number;
}

/** A failed unit that a run buys once more before its end. */
export interface RetryUnit {
  readonly key: string;
  /** The unit, as far as the database can hold its text. */
  readonly unit: string;
  /** The first row that has it, and the slice of this row. */
  readonly row: number;
  readonly slice: number;
}

/** Failed rows that a person picks: those with one of these tags, with one of these numbers, or with this mark. */
export type FailedPick =
  | { readonly tags: readonly string[]; readonly rows?: undefined; readonly marked?: undefined }
  | { readonly rows: readonly number[]; readonly tags?: undefined; readonly marked?: undefined }
  | { readonly marked: 'retry' | 'discarded'; readonly tags?: undefined; readonly rows?: undefined };

/** A failed unit, or bad rows with the same cells, whose key and unit are null. */
export interface FailedUnit {
  readonly key: string | null;
  readonly unit: string | null;
  readonly tag: string;
  /** Number of rows of the job that share it. */
  readonly rows: number;
  /** The first slice that has it. */
  readonly slice: number;
}

/** The rows to forget: all rows of a job, some of its rows, or the rows of all jobs whose unit or cells have a text in any case. */
export type ForgetPick = { readonly job: string } | { readonly text: string };

/** A row that may be forgotten. */
export interface ForgettableRow {
  readonly job: string;
  /** Null: a bad row. */
  readonly key: string | null;
  readonly hash: string;
  /** The unit and the cells; null and empty for the rows of a job. */
  readonly unit: string | null;
  readonly cells: readonly (string | null)[];
}

/** Units and bad rows whose data is removed. */
export interface ForgetSubjects {
  readonly keys: readonly string[];
  readonly badRows: readonly { readonly job: string; readonly hash: string }[];
}

/**
 * The form of an enriched CSV. `delimiter`: see {@link isCsvDelimiter}. `bom`: whether the file begins with a byte order mark. The encoding is
 * UTF-8.
 */
export interface CsvForm {
  readonly delimiter: string;
  readonly bom: boolean;
}

export const usualCsv: CsvForm = { delimiter: ',', bom: false };

/** Whether a CSV can be written with this delimiter: one ASCII character other than NUL, a double quote and a line break. */
export const isCsvDelimiter = (text: string): boolean =>
  text.length === 1 && text > '\0' && text < '\u0080' && !/["\r\n]/.test(text);

export interface MisreadAnswer {
  readonly key: string;
  readonly unit: string;
  readonly requestId: string | null;
  /** Unix ms. */
  readonly fetchedAt: number;
  /** `error`: the whole answer is unreadable; one of the units of the request has the text of the answer. */
  readonly status: 'success' | 'error';
  /** JSON text, or null. */
  readonly response: string | null;
}

/** How far a job is loaded: for its run and for commands. Never creates a file. */
export interface RowProgress {
  /** Whether any row of the job is loaded, of any generation. */
  holdsRows(job: string): Promise<boolean>;
  /** Whether any answer is loaded, of any job. */
  holdsAnswers(): Promise<boolean>;
  /** Numbers of the slices of this generation that are loaded as a whole. Null if the job or its warehouse does not exist. */
  loadedSlices(job: string, generation: string): Promise<readonly number[] | null>;
  loadedRows(job: string, generation: string, freshness?: RetryFreshness): Promise<LoadedRows>;
  /** Number of units of the job whose answer is a failure from this time (Unix ms) or later. */
  failedSince(job: string, time: number): Promise<number>;
  /** Rejects with `JobNotLoaded` where the job or its warehouse does not exist. */
  summary(job: string): Promise<WarehouseSummary>;
}

/**
 * The loads of a job: for its run. The ledger is the truth about what is loaded. A slice and its ledger line are one transaction; loading a
 * slice twice is a no-op. Rows are matched by number, hash and unit key, so that no row is loaded twice.
 */
export interface RowLoads {
  /** Makes the warehouse, if it is missing, and opens it. Every method does so; a call ahead saves the first one a fifth of a second. */
  make(): Promise<void>;
  /**
   * Records the job and moves loaded rows to their positions in the new generation, in one transaction. Unchanged rows are kept. Rows that
   * are no longer in the input are marked as vanished. Repeated calls for a generation change nothing. Returns the numbers of the slices
   * with rows to load.
   */
  openJob(job: JobRecord, rowsFiles: readonly string[], freshness?: RetryFreshness): Promise<readonly number[]>;
  /**
   * Compares the ledger with the loaded rows, and removes the lines of slices with missing or stale rows. Returns the numbers of the slices
   * to load, like `openJob`. Rejects with `WarehouseUnusable` if the warehouse does not have this generation of the job.
   */
  unloadedSlices(job: JobRecord, freshness?: RetryFreshness): Promise<readonly number[]>;
  /** Answers of the units that `known` finds, in the form of the journal without `operation`: the newest answer of each key. */
  answers(keys: readonly string[], freshness?: RetryFreshness): Promise<readonly KnownAnswer[]>;
  /** Returns the distinct unit keys of these staged rows of a job that are missing or stale in the warehouse. */
  pendingKeys(job: string, rowsFile: string, freshness?: RetryFreshness): Promise<readonly string[]>;
  load(batch: LoadBatch, freshness?: RetryFreshness): Promise<{ readonly rows: number; readonly already: boolean }>;
  /**
   * Marks the failed rows of the job that the rule names, if their failure is newer than the last complete run and they have no mark from
   * since then. Returns the marked rows whose failure is older than their mark; null: none. `by`: these rows are loaded with their `slice`,
   * whose ledger line is removed, or alone with the other rows of their `unit`.
   */
  openRetry(job: string, rule: RetryRule, by: 'slice' | 'unit'): Promise<RetryPass | null>;
  /** The units of marked rows whose failure is older than their mark, in the order of their first rows, which are in these slices. */
  retryUnits(job: string, slices: { readonly from: number; readonly to: number }): Promise<readonly RetryUnit[]>;
  /** Replaces the answers of the marked rows of these units whose failure is older than their mark. Loading a batch twice is a no-op. */
  loadRetry(batch: RetryBatch): Promise<{ readonly rows: number }>;
  /** Adds or updates unknown outcomes of the job, one row for each. */
  recordUnknown(job: string, outcomes: readonly UnknownOutcome[]): Promise<void>;
  /**
   * Records how a run ended, with the columns of the job. A second record of the same run replaces the first. Returns the changes of the
   * columns since the recorded run before it.
   */
  recordRun(run: RunRecord): Promise<readonly SchemaChange[]>;
  /** Adds the publish at the end of a run to its record. */
  recordPublish(job: string, run: string, outcome: PublishOutcome): Promise<void>;
}

/** What commands read about the rows of jobs. A job that is not loaded has no failed rows. Never creates a file. */
export interface RowReads {
  /** Costs of the answers of those units that have a fresh enough answer in the warehouse, bought by any job. */
  known(keys: readonly string[], freshness?: RetryFreshness): Promise<Map<string, number>>;
  /**
   * The failed units of the job that a person picks, in the order of its rows. With `marked: 'retry'`, only units whose failure is older than
   * their mark.
   */
  failedUnits(job: string, pick: FailedPick): Promise<readonly FailedUnit[]>;
  rowStates(job: string, numbers: readonly number[]): Promise<readonly RowState[]>;
  /** Paid answers of the job that are unreadable or have misread fields, each once. */
  misreadAnswers(job: string): Promise<readonly MisreadAnswer[]>;
  /** The rows that a person wants to forget, of all generations; none without a warehouse. Never creates a file. */
  forgettable(pick: ForgetPick): Promise<readonly ForgettableRow[]>;
  /** The rows of the current input that failed or are bad. */
  failedRows(job: string, filter: FailedFilter): Promise<FailedRows>;
  /** A row with the facts around it, a present row rather than a vanished one; null if it is not loaded. */
  placeOf(job: string, name: RowName): Promise<RowPlace | null>;
  /** Sums for a report on the job; the database adds up. Rejects with `JobNotLoaded` like `summary`. */
  figures(query: FiguresQuery): Promise<RowFigures>;
  /** The newest recorded runs of all jobs; none without a warehouse. Never creates a file. */
  lastRuns(most: number): Promise<readonly RecordedRun[]>;
}

/** Changes that a person makes to loaded rows. */
export interface RowMarks {
  /**
   * Marks failed rows, and the other rows of the job with the same units. `retry`: the next run buys their units once more before its end.
   * Replaces an earlier mark.
   */
  markRows(job: string, mark: 'retry' | 'discarded', pick: FailedPick): Promise<void>;
  /** Removes the mark `discarded` of rows. */
  unmarkRows(job: string, pick: FailedPick): Promise<void>;
  /**
   * Removes the values of the rows of these units, in all jobs: cells, URL, answer and misfits. Keeps key, cost and times, and gives them
   * the error tag `FORGOTTEN` and the mark `forgotten`. Returns the number of rows that had values. With `dryRun`, changes nothing.
   */
  forget(subjects: ForgetSubjects, dryRun: boolean): Promise<number>;
  /**
   * Removes the bytes of forgotten rows from the files of the database, where that was not done. Returns why it cannot, as a sentence
   * without a dot; null: it is done.
   */
  purgeForgotten(): Promise<string | null>;
  /** Replaces the answers in the job's rows by the answers in a unit file; the costs do not change. Returns the number of changed rows. */
  putAnswers(job: string, unitFile: string): Promise<number>;
}

export interface RowExports {
  /**
   * Writes the enriched CSV: rows in the order of the input, input columns unchanged, result columns added, and a column of the extra cells
   * if rows of the input have more cells than its header. Replaces the file in one step. Default: {@link usualCsv}.
   */
  exportCsv(job: string, file: string, form?: CsvForm): Promise<{ readonly rows: number; readonly bytes: number }>;
  /**
   * Writes the rows in the order of the input as Parquet files `part-00000.parquet` … into a separate directory. The files have the
   * columns and values of the job's view. Replaces the directory in one step; refuses a directory with other files.
   */
  exportParquet(
    job: string,
    dir: string,
  ): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number }>;
}

export interface JobWarehouse extends RowProgress, RowLoads, RowExports {}

export interface RowWarehouse extends JobWarehouse, RowReads, RowMarks {
  close(): Promise<void>;
}
