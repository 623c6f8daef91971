import type { DuckDBConnection } from '@duckdb/node-api';
import type { Transaction } from '../dialect.js';
import type { Relation } from '../shared/relation.js';

/** Number of rows that are sorted and written at a time, if they are small. */
export const ROWS_AT_ONCE = 25_000;
/** Number of rows that DuckDB reads at a time. It holds about ten copies of their answers. */
const ROWS_OF_VECTOR = 2048;
/** Number of characters of cells and answers in so many rows. Larger rows are sorted and written in portions of this size. */
const CHARACTERS_OF_VECTOR = 8_388_608;

/**
 * Returns the first numbers of portions of the rows from number `from` to number `to`, each of which fits into the memory of an export: one
 * portion if the rows are small. `where`: condition on the rows.
 */
export async function portionsOf(
  { rows }: Pick<Transaction, 'rows'>,
  where: string,
  from: number,
  to: number,
): Promise<readonly number[]> {
  const found = await rows<{ first: unknown }>(
    `SELECT min(row_number) AS first FROM (
       SELECT row_number, CASE WHEN max(of_vector) OVER () > ${CHARACTERS_OF_VECTOR} THEN floor(up_to / ${CHARACTERS_OF_VECTOR}) ELSE 0 END AS portion
       FROM (
         SELECT row_number, sum(characters) OVER (ORDER BY row_number) AS up_to,
           sum(characters) OVER (PARTITION BY floor(row_number / ${ROWS_OF_VECTOR})) AS of_vector
         FROM (
           SELECT row_number, coalesce(length(CAST(response AS text)), 0) + coalesce(length(CAST(input AS text)), 0) AS characters
           FROM row_store WHERE ${where} AND row_number BETWEEN ${from} AND ${to}) sizes) sums) portions
     GROUP BY portion ORDER BY first`,
  );
  return found.map(({ first }) => Number(first));
}

/**
 * Memory in MB to export a table with this number of columns. For each column DuckDB holds the cells of 2,048 rows, whatever
 * the number of rows.
 */
export function memoryFor(columns: number): number {
  return 256 + (columns > 1000 ? Math.ceil(columns / 10) : 0);
}

/** A DuckDB that reads any rows of a warehouse. Its queries are valid until the next one is asked for. */
export interface SourceDuckDb {
  readonly connection: DuckDBConnection;
  /** Raises the memory of later statements to at least this many MB. */
  need(megabytes: number): Promise<void>;
  /** Runs statements in the database of the warehouse. */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Query of the rows with these numbers that meet the condition, with the columns of `row_store`. */
  part(where: string, from: number, to: number): Promise<string>;
  /** Query of a whole table. JSON columns are text, because every reader of files supports text. */
  table(table: Relation): Promise<string>;
}

/**
 * Runs `work` with a DuckDB that reads the warehouse; may repeat `work`. `scratch`: a folder for temporary files, which the caller removes.
 * `snapshot`: all reads see one state of the warehouse; with `parts`, loads may change the rows between two reads.
 */
export type SourceDatabase = <T>(
  scratch: string,
  manner: 'snapshot' | 'parts',
  work: (source: SourceDuckDb) => Promise<T>,
) => Promise<T>;
