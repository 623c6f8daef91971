import type { DuckDBConnection } from '@duckdb/node-api';
import type { ResultColumn } from '../results/result-column.js';

/** Rows sorted and written at a time: what bounds the memory of an export. */
export const ROWS_AT_ONCE = 25_000;

/** The rows of a job that are in its input now, for DuckDB to read, whatever warehouse they are in. */
export interface JobRows {
  /** Columns of the input, in order. */
  readonly columns: readonly string[];
  /** Columns of its view behind these. */
  readonly results: readonly ResultColumn[];
  /** The highest row number. */
  readonly last: number;
  /** SQL of a query that gives the rows with these numbers, with the columns of `row_store`. Valid until the next call. */
  part(from: number, to: number): Promise<string>;
}

/**
 * Gives the export of a table with thousands of columns the memory it needs: for each column DuckDB holds the cells of 2,048 rows
 * at a time, however many are there. Whoever made the connection sets the limit back.
 */
export async function makeRoom(connection: DuckDBConnection, columns: number): Promise<void> {
  if (columns > 1000) await connection.run(`SET GLOBAL memory_limit = '${256 + Math.ceil(columns / 10)}MB'`);
}
