import type { DuckDBConnection } from '@duckdb/node-api';
import type { Freshness } from '../../../core/purchase/freshness.js';
import { MAX_OBJECT, plainPaths, stagedKeys, stagedRows, unpackedSize, upTo } from '../driver/read-files.js';
import { stale, useFreshness } from './freshness.js';

/**
 * Creates `pending`, a temporary table or view of the staged rows of one slice that must be loaded. A staged row is left out if the
 * warehouse has a row of the job with the same number, content and unit, and with an answer that is not stale. Returns whether the
 * warehouse has any row of the job with the numbers of the staged rows. Usually there is no such row; then all rows are pending, and
 * nothing is compared. Call this function once for each connection.
 */
export async function makePending(
  connection: DuckDBConnection,
  slice: {
    readonly job: string;
    readonly rowsFile: string;
    readonly cells: boolean;
    readonly part?: { readonly from: number; readonly to: number } | null;
  },
  freshness: Freshness | undefined,
): Promise<{ readonly occupied: boolean }> {
  const { listValue } = await import('@duckdb/node-api');
  const { job, part } = slice;
  const size = await unpackedSize(slice.rowsFile);
  await connection.run(
    `CREATE TEMP TABLE staged AS SELECT * EXCLUDE (filename) FROM ${upTo(slice.cells ? stagedRows : stagedKeys, Math.min(MAX_OBJECT, size))}
     ${part ? `WHERE n BETWEEN ${part.from} AND ${part.to}` : ''}`,
    {
      rows: listValue(plainPaths([slice.rowsFile])),
    },
  );
  // With this range DuckDB skips the parts of the table that belong to other slices.
  const here = 'e.job = $job AND e.row_number BETWEEN (SELECT min(n) FROM staged) AND (SELECT max(n) FROM staged)';
  const found = await connection.runAndReadAll(`SELECT 1 FROM row_store e WHERE ${here} LIMIT 1`, { job });
  if (found.currentRowCount === 0) {
    await connection.run('CREATE TEMP VIEW pending AS SELECT * FROM staged');
    return { occupied: false };
  }
  await useFreshness(connection, freshness);
  await connection.run(
    `CREATE TEMP TABLE pending AS
     SELECT s.* FROM staged s ANTI JOIN (
       SELECT row_number, row_hash, unit_key FROM row_store e WHERE ${here} AND NOT ${stale('e')}
     ) r ON r.row_number = s.n AND r.row_hash = s.h AND r.unit_key IS NOT DISTINCT FROM s.k`,
    { job },
  );
  return { occupied: true };
}

/** Unit keys of the slice's pending rows, each once. If the job was never opened here, the result has the keys of all rows. */
export async function pendingKeys(
  connection: DuckDBConnection,
  job: string,
  rowsFile: string,
  freshness: Freshness | undefined,
): Promise<readonly string[]> {
  await makePending(connection, { job, rowsFile, cells: false }, freshness);
  const reader = await connection.runAndReadAll('SELECT k FROM pending WHERE k IS NOT NULL GROUP BY k ORDER BY min(n)');
  return reader.getRowsJson().map((row) => String(row[0]));
}
