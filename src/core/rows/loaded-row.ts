import type { FailedGroup, LoadedRow, Misfit, PublishedAt } from './job-output-schemas.js';

export type { FailedGroup, LoadedRow, Misfit } from './job-output-schemas.js';

export interface RowState {
  readonly row: number;
  readonly status: string;
  readonly tag: string | null;
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

/** A row in a warehouse with the facts around it. */
export interface RowPlace {
  readonly loaded: LoadedRow;
  /** Time of the ledger line of its slice; null: the slice is not loaded as a whole. */
  readonly ledgerAt: number | null;
  readonly misfits: readonly Misfit[];
  /** Other rows of the job with the same unit: their number, and the first of them. */
  readonly sharing: { readonly rows: number; readonly first: readonly number[] };
  readonly published: PublishedAt;
}
