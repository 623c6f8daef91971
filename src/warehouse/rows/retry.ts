import type { RetryRule } from '../../core/purchase/freshness.js';
import type { RetryBatch, RetryPass, RetryUnit } from '../../core/rows/row-warehouse.js';
import type { Transaction } from '../dialect.js';
import { keepRows } from '../sink-batches.js';
import { resultColumnsOf } from './job-columns.js';
import { countPending, insertUnits, loadedBefore } from './load-slice.js';
import { listMisfits } from './misfits.js';
import { currentRow, markOf, numbersOf } from './row-sql.js';

/** Condition: the row (alias `e`) of the job `$1` is in the current input and has failed after a request. */
const failed = `${currentRow} AND e.status = 'error' AND e.unit_key IS NOT NULL`;

/** Time of the mark `retry` of the row (alias `e`): answers from before this time are old. */
const markedBefore = markOf('e.unit_key', "m.mark = 'retry'", 'm.before');

/** Failed rows of the job `$1` (alias `e`) whose mark `retry` is newer than their answer. */
const waiting = `FROM row_store e WHERE ${failed} AND e.fetched_at < ${markedBefore}`;

/** Time of the end of the last complete run of the job `$1`; without one, the time at which the warehouse got the job. */
const lastDone = `(SELECT coalesce((SELECT max(ended_at) FROM searchflow_runs WHERE job = $1 AND phase = 'done'), created_at)
  FROM searchflow_jobs WHERE job = $1)`;

/**
 * See `RowLoads.openRetry`. A failure gets a mark only once between two complete runs of the job. So a run that continues a stopped one
 * tries again the rows that the stopped one did not, and no row a third time.
 */
export async function openRetry(
  tx: Transaction,
  job: string,
  rule: RetryRule,
  by: 'slice' | 'unit',
): Promise<RetryPass | null> {
  const { dialect } = tx;
  await tx.lock({ job });
  await tx.run(
    `DELETE FROM row_marks WHERE job = $1 AND mark = 'retry' AND marked_at <= ${lastDone}
       AND subject NOT IN (SELECT e.unit_key ${waiting})`,
    [job],
  );
  // An answer of several rows may be a success for some of them. The cost of an answer is in one of its rows.
  const charged = rule.onlyFree ? "e.status = 'success' OR e.cost_micros > 0" : "e.status = 'success'";
  const found = `FILTER (WHERE ${failed} AND e.error_tag = ANY(CAST($2 AS text[])) AND e.fetched_at > ${lastDone})`;
  // One pass over the rows of the job: a database without statistics of a new job would compare each failed row with all rows.
  await tx.run(
    `INSERT INTO row_marks (job, subject, mark, before, marked_at)
     SELECT $1, e.unit_key, 'retry', max(e.fetched_at) ${found} + INTERVAL '1 millisecond', ${dialect.now()} FROM row_store e
     WHERE e.job = $1 AND e.unit_key IS NOT NULL GROUP BY e.unit_key
     HAVING count(*) ${found} > 0 AND count(*) FILTER (WHERE ${charged}) = 0
     ON CONFLICT DO NOTHING`,
    [job, rule.tags],
  );
  const slices = await tx.rows<{ slice: number; tag: string; before: unknown }>(
    `SELECT e.slice, e.error_tag AS tag, max(${dialect.millis(markedBefore)}) AS before ${waiting}
     GROUP BY e.slice, e.error_tag ORDER BY e.slice`,
    [job],
  );
  if (slices.length === 0) return null;
  const [all] = await tx.rows<{ units: unknown }>(`SELECT count(DISTINCT e.unit_key) AS units ${waiting}`, [job]);
  // Such rows are loaded again with their slices.
  if (by === 'slice')
    await tx.run(`DELETE FROM load_ledger WHERE job = $1 AND slice IN (SELECT e.slice ${waiting})`, [job]);
  return {
    slices: [...new Set(slices.map(({ slice }) => slice))],
    units: Number(all?.units ?? 0),
    tags: [...new Set(slices.map(({ tag }) => tag))].sort(),
    before: Math.max(...slices.map((one) => Math.ceil(Number(one.before)))),
  };
}

/** See `RowLoads.retryUnits`. A unit that the database cannot hold is read from its original line. */
export async function retryUnits(
  tx: Transaction,
  job: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly RetryUnit[]> {
  const exact = tx.dialect.keepsExact ? 'CAST(e.row_exact AS text)' : 'NULL';
  const found = await tx.rows<RetryUnit & { readonly row: unknown; readonly exact: string | null }>(
    `SELECT * FROM (
       SELECT DISTINCT ON (e.unit_key) e.unit_key AS key, e.url AS unit, e.row_number AS row, e.slice, ${exact} AS exact
       ${waiting} AND e.url IS NOT NULL ORDER BY e.unit_key, e.row_number) u
     WHERE u.slice >= CAST($2 AS bigint) AND u.slice < CAST($3 AS bigint) ORDER BY u.row`,
    [job, from, to],
  );
  return found.map(({ key, unit, row, slice, exact: line }) => {
    const original = line === null ? unit : (JSON.parse(line) as { readonly u: string }).u;
    return { key, unit: original, row: Number(row), slice };
  });
}

/** A marked row as a staged row. Only the first row of a unit has the cost of its answer. */
const pending = ({ dialect }: Transaction) => `
  SELECT e.row_number AS n, e.row_hash AS h, e.unit_key AS k, e.url AS u, e.input AS i, e.slice,
    row_number() OVER (PARTITION BY e.unit_key ORDER BY e.row_number) > 1 AS d${dialect.keepsExact ? ', CAST(e.row_exact AS text) AS row_exact' : ''}
  ${waiting} AND e.unit_key = ANY(CAST($2 AS text[]))`;

/** See `RowLoads.loadRetry`. Runs in the caller's transaction. */
export async function loadRetry(
  tx: Transaction,
  { job, generation, unitFiles, keys }: RetryBatch,
  careful: boolean,
): Promise<{ readonly rows: number }> {
  // Another attempt may load the same rows at the same time.
  const before = await loadedBefore(tx, { job, generation, slice: null });
  await tx.createTemp('pending', pending(tx), [job, keys]);
  const found = { ...(await countPending(tx, 'pending')), table: 'pending' } as const;
  const { rows } = found;
  if (rows === 0) return { rows };
  // All of these rows have failed; the condition lets PostgreSQL find them by an index.
  await tx.run(`DELETE FROM row_store WHERE job = $1 AND status = 'error' AND ${numbersOf(tx, found)}`, [job]);
  // The rows keep their slices.
  await insertUnits(tx, { job, generation, slice: 0, unitFiles }, before.origin, found, careful);
  const shown = { ...before, job, results: resultColumnsOf(before), piece: -1 };
  await listMisfits(tx, shown, numbersOf(tx, found));
  await keepRows(tx, shown, found);
  return { rows };
}
