import type { RetryRule } from '../../../core/purchase/freshness.js';
import type { RetryPass } from '../../../core/rows/row-warehouse.js';
import type { RowTransaction } from '../row-sql.js';

/** Condition: the row (alias `e`) of the job `$1` is in the current input and has failed after a request. */
const failed = `e.job = $1 AND e.status = 'error' AND e.unit_key IS NOT NULL AND e.row_number IS NOT NULL
  AND e.vanished_at IS NULL AND e.outdated_at IS NULL`;

/** Failed rows of the job `$1` whose mark `retry` is newer than their answer. */
const waiting = `FROM row_store e JOIN row_marks m ON m.job = e.job AND m.subject = e.unit_key AND m.mark = 'retry'
  WHERE ${failed} AND e.fetched_at < m.before`;

/** Time of the end of the last complete run of the job `$1`; without one, the time at which the warehouse got the job. */
const lastDone = `(SELECT coalesce((SELECT max(ended_at) FROM searchflow_runs WHERE job = $1 AND phase = 'done'), created_at)
  FROM searchflow_jobs WHERE job = $1)`;

/**
 * See `RowWarehouse.openRetry`. A failure gets a mark only once between two complete runs of the job. So a run that continues a stopped one
 * tries again the rows that the stopped one did not, and no row a third time.
 */
export async function openRetry(tx: RowTransaction, job: string, rule: RetryRule): Promise<RetryPass | null> {
  const { dialect } = tx;
  await tx.lock({ job });
  await tx.run(
    `DELETE FROM row_marks WHERE job = $1 AND mark = 'retry' AND marked_at <= ${lastDone}
       AND subject NOT IN (SELECT e.unit_key ${waiting})`,
    [job],
  );
  // An answer of several rows may be a success for some of them. The cost of an answer is in one of its rows.
  const charged = rule.onlyFree ? "(d.status = 'success' OR d.cost_micros > 0)" : "d.status = 'success'";
  await tx.run(
    `INSERT INTO row_marks (job, subject, mark, before, marked_at)
     SELECT $1, e.unit_key, 'retry', max(e.fetched_at) + INTERVAL '1 millisecond', ${dialect.now()} FROM row_store e
     WHERE ${failed} AND e.error_tag = ANY(CAST($2 AS text[])) AND e.fetched_at > ${lastDone}
       AND e.unit_key NOT IN (SELECT d.unit_key FROM row_store d WHERE d.job = $1 AND d.unit_key IS NOT NULL AND ${charged})
     GROUP BY e.unit_key
     ON CONFLICT DO NOTHING`,
    [job, rule.tags],
  );
  const found = await tx.rows<{ slice: number; units: unknown; tag: string; before: unknown }>(
    `SELECT e.slice, count(DISTINCT e.unit_key) AS units, e.error_tag AS tag, max(${dialect.millis('m.before')}) AS before ${waiting}
     GROUP BY e.slice, e.error_tag ORDER BY e.slice`,
    [job],
  );
  if (found.length === 0) return null;
  const [all] = await tx.rows<{ units: unknown }>(`SELECT count(DISTINCT e.unit_key) AS units ${waiting}`, [job]);
  // The rows are loaded again with their slices.
  await tx.run(`DELETE FROM load_ledger WHERE job = $1 AND slice IN (SELECT e.slice ${waiting})`, [job]);
  return {
    slices: [...new Set(found.map(({ slice }) => slice))],
    units: Number(all?.units ?? 0),
    tags: [...new Set(found.map(({ tag }) => tag))].sort(),
    before: Math.max(...found.map(({ before }) => Math.ceil(Number(before)))),
  };
}
