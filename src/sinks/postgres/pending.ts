import type { Freshness } from '../../core/journal.js';
import type { PgTransaction } from '../../postgres/index.js';
import { copyLines } from './copy-lines.js';
import { stale, useFreshness } from './stale.js';

/** A line of a staged slice, as a record. */
export const stagedRecord =
  'json_to_record(line) AS r(n bigint, h text, k text, u text, e text, m text, d boolean, i text[], exact text)';

/** What a load still has to do for a slice. */
export interface Pending {
  /** Temporary table of the staged rows that are to be loaded. */
  readonly table: 'staged' | 'pending';
  /** The job has rows at these places: what is pending replaces some of them. */
  readonly occupied: boolean;
}

/**
 * Makes a temporary table of the staged rows of one slice that the job's rows don't have yet with the same place, content and unit,
 * or have stale. Mostly the job has no rows at these places, then all are pending and nothing needs to be compared.
 */
export async function makePending(
  tx: PgTransaction,
  slice: { readonly job: string; readonly rowsFile: string },
  freshness: Freshness | undefined,
): Promise<Pending> {
  await tx.query('CREATE TEMP TABLE row_lines (line json) ON COMMIT DROP');
  await copyLines(tx, 'row_lines', slice.rowsFile);
  await tx.query(`CREATE TEMP TABLE staged ON COMMIT DROP AS SELECT r.* FROM row_lines, ${stagedRecord}`);
  const here = 'e.job = $1 AND e.row_number BETWEEN (SELECT min(n) FROM staged) AND (SELECT max(n) FROM staged)';
  const found = await tx.query(`SELECT FROM row_store e WHERE ${here} LIMIT 1`, [slice.job]);
  if (found.length === 0) return { table: 'staged', occupied: false };
  await useFreshness(tx, freshness);
  await tx.query('CREATE TEMP TABLE pending (LIKE staged) ON COMMIT DROP');
  await tx.query(
    `INSERT INTO pending SELECT s.* FROM staged s WHERE NOT EXISTS (
       SELECT FROM row_store e WHERE ${here} AND e.row_number = s.n AND e.row_hash = s.h
         AND e.unit_key IS NOT DISTINCT FROM s.k AND NOT ${stale('e')})`,
    [slice.job],
  );
  return { table: 'pending', occupied: true };
}

/** Unit keys of the slice that rows are missing for, each once. All of them where the job was never opened here. */
export async function pendingKeys(
  tx: PgTransaction,
  job: string,
  rowsFile: string,
  freshness: Freshness | undefined,
): Promise<readonly string[]> {
  const { table } = await makePending(tx, { job, rowsFile }, freshness);
  const rows = await tx.query<{ k: string }>(`SELECT k FROM ${table} WHERE k IS NOT NULL GROUP BY k ORDER BY min(n)`);
  return rows.map(({ k }) => k);
}
