import { ownReasons } from '../../core/purchase/attempts.js';
import { failureTags } from '../../core/purchase/failure-tags.js';
import { FORGOTTEN, keptReasons } from '../../core/purchase/forgotten.js';
import type { FailedPick, RowMarks } from '../../core/rows/row-warehouse.js';
import type { Database } from '../database.js';
import { refuseWaiting } from '../sink-batches.js';
import { putAnswers } from './answers.js';
import { listMisfits } from './misfits.js';
import { readJob, transactionsOf } from './read-job.js';
import { currentRow, markOf, subjectOf } from './row-sql.js';
import { answerColumns, exactColumns } from './row-tables.js';

/** Condition: the row (alias `e`) of the job `$1` is in the current input, has failed and is not forgotten. */
export const failed = `${currentRow} AND e.status IN ('error', 'invalid') AND e.error_tag IS DISTINCT FROM '${FORGOTTEN}'`;

/** Condition and value of the rows that a person picks; the value is the parameter `$2`. */
export function picked({ tags, rows, marked }: FailedPick): readonly [condition: string, value: readonly string[]] {
  if (marked !== undefined) {
    const isIt = "m.mark <> 'retry' OR e.fetched_at < m.before";
    return [markOf(subjectOf('e'), 'm.mark = ANY(CAST($2 AS text[]))', isIt), [marked]];
  }
  if (rows !== undefined) return ['e.row_number = ANY(CAST(CAST($2 AS text[]) AS bigint[]))', rows.map(String)];
  return ['e.error_tag = ANY(CAST($2 AS text[]))', tags ?? []];
}

export function createRowMarks(database: Database): RowMarks {
  const { dialect, exists, shown } = database;
  const { existing, ifPresent } = transactionsOf(database);
  return {
    markRows: (job, mark, pick) =>
      existing(job, 'write', async (tx) => {
        const [condition, value] = picked(pick);
        await tx.lock({ job });
        const before = mark === 'retry' ? "max(e.fetched_at) + INTERVAL '1 millisecond'" : 'NULL';
        const bought = mark === 'retry' ? 'AND e.unit_key IS NOT NULL' : '';
        await tx.run(
          `INSERT INTO row_marks (job, subject, mark, before, marked_at)
           SELECT $1, ${subjectOf('e')}, '${mark}', ${before}, ${dialect.now()} FROM row_store e
           WHERE ${failed} AND ${condition} ${bought} GROUP BY ${subjectOf('e')} ${replacesMark}`,
          [job, value],
        );
      }),

    unmarkRows: (job, pick) =>
      existing(job, 'write', async (tx) => {
        const [condition, value] = picked(pick);
        await tx.lock({ job });
        await tx.run(
          `DELETE FROM row_marks WHERE job = $1 AND mark = 'discarded'
             AND subject IN (SELECT ${subjectOf('e')} FROM row_store e WHERE ${failed} AND ${condition})`,
          [job, value],
        );
      }),

    /** The mark of a row has no time in `before` until the bytes are removed from the files. A bad row stays `invalid`. */
    forget: ({ keys, badRows }, dryRun) =>
      ifPresent(0, dryRun ? 'read' : 'write', async (tx) => {
        await tx.createTemp('forgotten', 'SELECT DISTINCT unnest(CAST($1 AS text[])) AS k', [keys]);
        await tx.createTemp('bad_rows', 'SELECT unnest(CAST($1 AS text[])) AS job, unnest(CAST($2 AS text[])) AS h', [
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
        const jobs = await tx.rows<{ job: string }>(`SELECT DISTINCT e.job ${wanted} ORDER BY 1`);
        for (const { job } of jobs) {
          if (!dryRun) await tx.lock({ job });
          await refuseWaiting(tx, job);
        }
        if (dryRun) return rows;
        if (rows > 0) {
          await tx.run(
            `DELETE FROM misfits WHERE EXISTS (SELECT 1 FROM row_store e
                 WHERE e.job = misfits.job AND e.row_number = misfits.row_number AND ${named})`,
          );
          await tx.run(
            `INSERT INTO row_marks (job, subject, mark, before, marked_at)
             SELECT e.job, ${subjectOf('e')}, 'forgotten', NULL, ${dialect.now()} ${wanted} GROUP BY 1, 2 ${replacesMark}`,
          );
          const changes = [
            `status = CASE WHEN e.unit_key IS NULL THEN e.status ELSE 'error' END`,
            `error_tag = '${FORGOTTEN}'`,
            `error_message = '${failureTags.FORGOTTEN.message}'`,
            `input = ${dialect.emptied('e.input')}`,
            'request_id = CASE WHEN strpos(e.request_id, e.url) > 0 THEN NULL ELSE e.request_id END',
            'url = NULL',
            ...[...answerColumns, ...(dialect.keepsExact ? exactColumns : [])].map(({ name }) => `${name} = NULL`),
          ];
          await tx.run(`UPDATE row_store AS e SET ${changes.join(', ')} WHERE ${named} AND ${hasValues}`);
        }
        await tx.run(
          `UPDATE unknown_outcomes SET reason = $1 WHERE NOT (reason = ANY(CAST($2 AS text[])))
             AND id IN (SELECT o.id FROM (SELECT id, unnest(unit_keys) AS k FROM unknown_outcomes) o JOIN forgotten f ON f.k = o.k)`,
          [ownReasons.removed, keptReasons],
        );
        return rows;
      }),

    purgeForgotten: async () => ((await exists()) ? database.purge() : null),

    putAnswers: (job, unitFile) =>
      existing(job, 'write', async (tx) => {
        const changed = await putAnswers(tx, job, unitFile);
        if (changed > 0) await listMisfits(tx, { job, ...(await readJob(tx, job, shown)) });
        return changed;
      }),
  };
}

const replacesMark =
  'ON CONFLICT (job, subject) DO UPDATE SET mark = excluded.mark, before = excluded.before, marked_at = excluded.marked_at';

/** Condition: a forgotten row of `row_marks` whose bytes may still be in the files of the database. */
export const unpurged = `mark = 'forgotten' AND before IS NULL`;
