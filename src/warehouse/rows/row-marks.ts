import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import type { RowState } from '../../core/rows/loaded-row.js';
import type { FailedPick, FailedUnit } from '../../core/rows/row-warehouse.js';
import type { Transaction } from '../dialect.js';
import { currentRow, markOf } from './row-sql.js';

/** Condition: the row (alias `e`) of the job `$1` is in the current input, has failed and is not forgotten. */
const failed = `${currentRow} AND e.status IN ('error', 'invalid') AND e.error_tag IS DISTINCT FROM '${FORGOTTEN}'`;

/** What a mark is for: rows with the same unit share its answer, and a bad row has no unit. */
const subjectOf = (alias: string): string => `coalesce(${alias}.unit_key, ${alias}.row_hash)`;

/**
 * Condition: the row (alias `e`) of the job `$1` does not count as failed, because a person discarded or forgot it.
 */
export const discardedRow = `(e.error_tag IS NOT DISTINCT FROM '${FORGOTTEN}'
  OR ${subjectOf('e')} IN (SELECT m.subject FROM row_marks m WHERE m.job = $1 AND m.mark = 'discarded'))`;

/** Condition and value of the rows that a person picks; the value is the parameter `$2`. */
function picked({ tags, rows, marked }: FailedPick): readonly [condition: string, value: readonly string[]] {
  if (marked !== undefined) {
    const isIt = "m.mark <> 'retry' OR e.fetched_at < m.before";
    return [markOf(subjectOf('e'), 'm.mark = ANY(CAST($2 AS text[]))', isIt), [marked]];
  }
  if (rows !== undefined) return ['e.row_number = ANY(CAST(CAST($2 AS text[]) AS bigint[]))', rows.map(String)];
  return ['e.error_tag = ANY(CAST($2 AS text[]))', tags ?? []];
}

export async function failedUnits(tx: Transaction, job: string, pick: FailedPick): Promise<readonly FailedUnit[]> {
  const [condition, value] = picked(pick);
  const found = await tx.rows<{ key: string | null; unit: string | null; tag: string; rows: unknown; slice: number }>(
    `SELECT e.unit_key AS key, min(e.url) AS unit, e.error_tag AS tag, count(*) AS rows, min(e.slice) AS slice FROM row_store e
     WHERE ${failed} AND ${condition} GROUP BY e.unit_key, CASE WHEN e.unit_key IS NULL THEN e.url END, e.error_tag ORDER BY min(e.row_number)`,
    [job, value],
  );
  return found.map(({ rows, ...unit }) => ({ ...unit, rows: Number(rows) }));
}

export async function rowStates(
  tx: Transaction,
  job: string,
  numbers: readonly number[],
): Promise<readonly RowState[]> {
  const found = await tx.rows<{ row: unknown; status: string; tag: string | null }>(
    `SELECT e.row_number AS row, e.status, e.error_tag AS tag FROM row_store e
     WHERE ${currentRow} AND e.row_number = ANY(CAST(CAST($2 AS text[]) AS bigint[])) ORDER BY 1`,
    [job, numbers.map(String)],
  );
  return found.map(({ row, ...state }) => ({ ...state, row: Number(row) }));
}

export async function markRows(
  tx: Transaction,
  job: string,
  mark: 'retry' | 'discarded',
  pick: FailedPick,
): Promise<void> {
  const [condition, value] = picked(pick);
  await tx.lock({ job });
  const before = mark === 'retry' ? "max(e.fetched_at) + INTERVAL '1 millisecond'" : 'NULL';
  const bought = mark === 'retry' ? 'AND e.unit_key IS NOT NULL' : '';
  await tx.run(
    `INSERT INTO row_marks (job, subject, mark, before, marked_at)
     SELECT $1, ${subjectOf('e')}, '${mark}', ${before}, ${tx.dialect.now()} FROM row_store e
     WHERE ${failed} AND ${condition} ${bought} GROUP BY ${subjectOf('e')}
     ON CONFLICT (job, subject) DO UPDATE SET mark = excluded.mark, before = excluded.before, marked_at = excluded.marked_at`,
    [job, value],
  );
}

export async function unmarkRows(tx: Transaction, job: string, pick: FailedPick): Promise<void> {
  const [condition, value] = picked(pick);
  await tx.lock({ job });
  await tx.run(
    `DELETE FROM row_marks WHERE job = $1 AND mark = 'discarded'
       AND subject IN (SELECT ${subjectOf('e')} FROM row_store e WHERE ${failed} AND ${condition})`,
    [job, value],
  );
}
