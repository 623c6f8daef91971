import type { UnitStatus } from '../purchase/journal.js';
import type { PublishOutcome } from '../row-job-schemas.js';

/** A row as its warehouse has it. Times in Unix ms. */
export interface LoadedRow {
  /** Null after the row has vanished from the input. */
  readonly row: number | null;
  readonly hash: string;
  /** `invalid`: a bad row. */
  readonly status: UnitStatus | 'invalid';
  readonly tag: string | null;
  readonly message: string | null;
  readonly httpStatus: number | null;
  readonly key: string | null;
  /** The URL, or the rendered request as JSON; null for a bad row. */
  readonly unit: string | null;
  readonly input: readonly (string | null)[];
  readonly requestId: string | null;
  readonly costMicros: number;
  readonly fetchedAt: number | null;
  readonly slice: number;
  readonly loadedAt: number;
  /** Since when the job has other options, so that the answer will be replaced. */
  readonly outdatedAt: number | null;
  readonly vanishedAt: number | null;
}

export interface RowState {
  readonly row: number;
  readonly status: string;
  readonly tag: string | null;
}

export interface FailedGroup {
  readonly status: 'error' | 'invalid';
  readonly tag: string | null;
  readonly rows: number;
  readonly units: number;
  /** Cost of their answers in micro-dollars. */
  readonly costMicros: number;
}

export interface FailedRows {
  /** All failed rows in groups, the largest group first. */
  readonly groups: readonly FailedGroup[];
  /** The first failed rows, in the order of the input. */
  readonly rows: readonly LoadedRow[];
}

/** Which failed rows to read; an empty list of tags means all tags. A row without a tag has the tag ''. */
export interface FailedFilter {
  readonly tags: readonly string[];
  readonly limit: number;
}

/**
 * Names a row of a job. `unit`: the URL of a row, or the text of its cell in the column with this number, from 1. `key`: the key of its unit;
 * a row with another spelling of the URL has it, too.
 */
export type RowName =
  | { readonly row: number; readonly hash?: string }
  | { readonly unit: readonly string[]; readonly cell: number; readonly key: string | null };

/** A value of an answer that does not fit the type of its column. */
export interface Misfit {
  readonly column: string;
  /** The beginning of the value, as text. */
  readonly value: string;
  /** Type of the column. */
  readonly expected: string;
}

/** A row in a warehouse with the facts around it. */
export interface RowPlace {
  readonly loaded: LoadedRow;
  /** Time of the ledger line of its slice; null: the slice is not loaded as a whole. */
  readonly ledgerAt: number | null;
  readonly misfits: readonly Misfit[];
  /** Other rows of the job with the same unit: their number, and the first of them. */
  readonly sharing: { readonly rows: number; readonly first: readonly number[] };
  /** The latest publish at the end of a run; null: none. */
  readonly published: (PublishOutcome & { readonly at: number }) | null;
}
