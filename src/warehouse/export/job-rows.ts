import type { DuckDBConnection } from '@duckdb/node-api';
import type { ResultColumn } from '../rows/result-column.js';

/** Rows sorted and written at a time: the bound on the memory of an export. */
export const ROWS_AT_ONCE = 25_000;

/** The rows of a job that are in its input now, in a form that DuckDB can read, from either warehouse. */
export interface JobRows {
  /** Path of the input, or `-`. */
  readonly input: string;
  /** Columns of the input, in order. */
  readonly columns: readonly string[];
  /** Columns of the job's view after those of the input. */
  readonly results: readonly ResultColumn[];
  /** The highest row number. */
  readonly last: number;
  /** SQL of a query of the rows with these numbers, with the columns of `row_store`. Valid until the next call. */
  part(from: number, to: number): Promise<string>;
}

/**
 * MB for the export of a table with so many columns: for each column DuckDB holds the cells of 2,048 rows, whatever the number of
 * rows.
 */
export function memoryFor(columns: number): number {
  return 256 + (columns > 1000 ? Math.ceil(columns / 10) : 0);
}

/** A DuckDB that reads the rows of a job. */
export interface RowReader {
  readonly connection: DuckDBConnection;
  readonly rows: JobRows;
  /** Raises the memory of the statements that follow to this many MB, if it is more than they have. */
  need(megabytes: number): Promise<void>;
}
