import type { Freshness } from '../../../core/purchase/freshness.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { copyLines, makeLineTables } from '../driver/copy-lines.js';
import { stale, useFreshness } from './freshness.js';

/** The staged rows among the lines of files. */
export const stagedRows = `SELECT r.* FROM row_lines,
  json_to_record(line) AS r(n bigint, h text, k text, u text, e text, m text, d boolean, i text[], exact text)`;

/** Condition: the job in `$1` has rows with the numbers of the staged rows. An index finds such rows. */
export const occupied = `EXISTS (SELECT FROM row_store e WHERE e.job = $1
  AND e.row_number BETWEEN (SELECT min(n) FROM staged) AND (SELECT max(n) FROM staged))`;

/**
 * Creates two temporary tables: `staged`, the rows among the lines, and `pending`, the staged rows to load. A staged row is left out of
 * `pending` if the warehouse has a row of the job with the same number, content and unit, and with an answer that is not stale.
 */
export async function makePending(tx: PgTransaction, job: string, freshness: Freshness | undefined): Promise<void> {
  await useFreshness(tx, freshness);
  await tx.query(`CREATE TEMP TABLE staged ON COMMIT DROP AS ${stagedRows};
    CREATE TEMP TABLE pending (LIKE staged) ON COMMIT DROP`);
  await tx.query(
    `INSERT INTO pending SELECT s.* FROM staged s WHERE NOT EXISTS (
       SELECT FROM row_store e WHERE e.job = $1 AND e.row_number = s.n AND e.row_hash = s.h
         AND e.unit_key IS NOT DISTINCT FROM s.k AND NOT ${stale('e')})`,
    [job],
  );
}

/** Unit keys of the slice's pending rows, each once. If the job was never opened here, the result has the keys of all rows. */
export async function pendingKeys(
  tx: PgTransaction,
  job: string,
  rowsFile: string,
  freshness: Freshness | undefined,
): Promise<readonly string[]> {
  await makeLineTables(tx);
  await copyLines(tx, 'row_lines', rowsFile);
  await makePending(tx, job, freshness);
  const rows = await tx.query<{ k: string }>('SELECT k FROM pending WHERE k IS NOT NULL GROUP BY k ORDER BY min(n)');
  return rows.map(({ k }) => k);
}
