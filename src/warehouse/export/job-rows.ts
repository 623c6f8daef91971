import type { DuckDBConnection } from '@duckdb/node-api';
import type { ColumnType } from '../../core/rows/column-type.js';
import type { ResultColumn } from '../rows/result-column.js';

/** Number of rows that are sorted and written at a time. This number bounds the memory of an export. */
export const ROWS_AT_ONCE = 25_000;

/** The rows of a job that are in the current input, in a form that DuckDB can read, from either kind of warehouse. */
export interface JobRows {
  /** Path of the input, or `-`. */
  readonly input: string;
  /** Columns of the input, in order. */
  readonly columns: readonly string[];
  /** Types of these columns; null: the input is a CSV, whose cells are texts. */
  readonly types: readonly ColumnType[] | null;
  /** Columns of the job's view after the columns of the input. */
  readonly results: readonly ResultColumn[];
  /** Whether rows have more cells than the input has columns. */
  readonly hasExtraCells: boolean;
  /** The highest row number. */
  readonly last: number;
  /**
   * Returns a SQL query of the rows from number `from` to number `to`, with the columns of `row_store`. The query is valid until the next
   * call.
   */
  part(from: number, to: number): Promise<string>;
}

/**
 * Memory in MB to export a table with this number of columns. For each column DuckDB holds the cells of 2,048 rows, whatever
 * the number of rows.
 */
export function memoryFor(columns: number): number {
  return 256 + (columns > 1000 ? Math.ceil(columns / 10) : 0);
}

/** A DuckDB that reads the rows of a job. */
export interface RowReader {
  readonly connection: DuckDBConnection;
  readonly rows: JobRows;
  /** Raises the memory of later statements to at least this many MB. */
  need(megabytes: number): Promise<void>;
}
