import type { DuckDBConnection } from '@duckdb/node-api';
import type { JobRows } from '../export/job-rows.js';
import { memoryFor, partsOf } from '../export/job-rows.js';
import { parquetQuery } from '../export/parquet-query.js';

/** A table of the source, in a form that DuckDB can read. */
export interface SourceTable {
  readonly name: string;
  /** Memory in MB to read the table. */
  readonly memory: number;
  /** SQL queries of the rows, in order; at least one. A query is valid until the next one is read. */
  parts(): AsyncIterable<string>;
}

/** A DuckDB that reads one state of the source: no load changes the rows meanwhile. */
export interface SourceReader {
  readonly connection: DuckDBConnection;
  /** Name of the source in a target: two sources never share a table. */
  readonly source: string;
  /** The latest recorded run of a job; null if there is none. */
  readonly run: string | null;
  /** Files that a target must not be. */
  readonly input: string | null;
  readonly tables: readonly SourceTable[];
  /** Raises the memory of later statements to at least this many MB. */
  need(megabytes: number): Promise<void>;
}

/** The rows of a job as a table with the columns of its view. */
export function jobTable(name: string, rows: JobRows): SourceTable {
  return {
    name,
    memory: memoryFor(rows.columns.length),
    async *parts() {
      for await (const part of partsOf(rows)) yield parquetQuery(rows, part);
    },
  };
}
