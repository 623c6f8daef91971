import { FORGOTTEN, keptReasons, REMOVED_REASON } from '../../core/purchase/forgotten.js';
import { reasonOf } from '../../core/rows/row-operation.js';
import type { ForgetPick, ForgetSubjects, ForgettableRow } from '../../core/rows/row-warehouse.js';
import type { RowTransaction } from './row-sql.js';

/** See `RowWarehouse.forgettable`. */
export async function forgettableRows(tx: RowTransaction, pick: ForgetPick): Promise<readonly ForgettableRow[]> {
  const isText = 'text' in pick;
  const cells = 'array_to_string(e.input, chr(10))';
  // A cell with a URL may be the unit only in part, and the unit may be a whole request.
  const [condition, values] = isText
    ? [`strpos(lower(coalesce(e.url, '')), lower($1)) > 0 OR strpos(lower(${cells}), lower($1)) > 0`, [pick.text]]
    : ['e.job = $1', [pick.job]];
  const found = await tx.rows<Omit<ForgettableRow, 'cells'> & { readonly cells: string | null }>(
    `SELECT DISTINCT e.job, e.unit_key AS key, e.row_hash AS hash, ${isText ? 'e.url' : 'NULL'} AS unit, ${isText ? cells : 'NULL'} AS cells
     FROM row_store e WHERE ${condition}`,
    values,
  );
  return found.map(({ cells: text, ...row }) => ({ ...row, cells: text === null ? [] : text.split('\n') }));
}

/** Columns of `row_store` with values of the row or its answer. */
const emptied = [...['url', 'http_status', 'source', 'title', 'author', 'published_date', 'response']];

/**
 * See `RowWarehouse.forget`. The mark of a row has no time in `before` until the bytes are removed from the files, see `purgeForgotten`. A bad
 * row stays `invalid`.
 */
export async function forgetRows(
  tx: RowTransaction,
  { keys, badRows }: ForgetSubjects,
  dryRun: boolean,
): Promise<number> {
  const { dialect } = tx;
  await tx.run(dialect.temp('forgotten', 'SELECT DISTINCT unnest(CAST($1 AS text[])) AS k'), [keys]);
  await tx.run(dialect.temp('bad_rows', 'SELECT unnest(CAST($1 AS text[])) AS job, unnest(CAST($2 AS text[])) AS h'), [
    badRows.map(({ job }) => job),
    badRows.map(({ hash }) => hash),
  ]);
  const named = `(e.unit_key IN (SELECT k FROM forgotten)
    OR e.unit_key IS NULL AND EXISTS (SELECT 1 FROM bad_rows b WHERE b.job = e.job AND b.h = e.row_hash))`;
  const hasValues = `(e.error_tag IS DISTINCT FROM '${FORGOTTEN}' OR e.url IS NOT NULL OR e.response IS NOT NULL
    OR array_to_string(e.input, '') <> '')`;
  const wanted = `FROM row_store e WHERE ${named} AND ${hasValues}`;
  const [sum] = await tx.rows<{ rows: unknown }>(`SELECT count(*) AS rows ${wanted}`);
  const rows = Number(sum?.rows ?? 0);
  if (dryRun) return rows;
  if (rows > 0) {
    const jobs = await tx.rows<{ job: string }>(`SELECT DISTINCT e.job ${wanted} ORDER BY 1`);
    for (const { job } of jobs) await tx.lock({ job });
    await tx.run(
      `DELETE FROM misfits WHERE EXISTS (SELECT 1 FROM row_store e
           WHERE e.job = misfits.job AND e.row_number = misfits.row_number AND ${named})`,
    );
    await tx.run(
      `INSERT INTO row_marks (job, subject, mark, before, marked_at)
       SELECT e.job, coalesce(e.unit_key, e.row_hash), 'forgotten', NULL, ${dialect.now()} ${wanted} GROUP BY 1, 2
       ON CONFLICT (job, subject) DO UPDATE SET mark = excluded.mark, before = excluded.before, marked_at = excluded.marked_at`,
    );
    const changes = [
      `status = CASE WHEN e.unit_key IS NULL THEN e.status ELSE 'error' END`,
      `error_tag = '${FORGOTTEN}'`,
      `error_message = '${reasonOf[FORGOTTEN]}'`,
      `input = ${dialect.emptied('e.input')}`,
      'request_id = CASE WHEN strpos(e.request_id, e.url) > 0 THEN NULL ELSE e.request_id END',
      ...[...emptied, ...(dialect.keepsExact ? ['row_exact', 'answer_exact'] : [])].map((name) => `${name} = NULL`),
    ];
    await tx.run(`UPDATE row_store AS e SET ${changes.join(', ')} WHERE ${named} AND ${hasValues}`);
  }
  await tx.run(
    `UPDATE unknown_outcomes SET reason = $1 WHERE NOT (reason = ANY(CAST($2 AS text[])))
       AND id IN (SELECT o.id FROM (SELECT id, unnest(unit_keys) AS k FROM unknown_outcomes) o JOIN forgotten f ON f.k = o.k)`,
    [REMOVED_REASON, keptReasons],
  );
  return rows;
}

/** Condition: a forgotten row of `row_marks` whose bytes may still be in the files of the database. */
export const unpurged = `mark = 'forgotten' AND before IS NULL`;
