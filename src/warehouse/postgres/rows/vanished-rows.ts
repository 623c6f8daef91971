import type { JobRecord } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { copyLines, makeLineTables } from '../driver/copy-lines.js';
import { stale } from './freshness.js';
import { stagedRows } from './pending.js';

/** Work on at least this many rows is reported as a long operation. */
const MANY = 100_000;

/**
 * Updates the rows of a job to new content or new options of its input, in the caller's transaction. Rows are matched by their
 * cells; rows with equal cells are matched in their order. Afterwards each visible row has its number in the new input, and
 * each vanished row is marked. Answers to other options are marked as outdated, and the ledger lists the complete slices.
 */
export async function reconcile(
  tx: PgTransaction,
  job: JobRecord,
  rowsFiles: readonly string[],
  say: (sentence: string) => void,
): Promise<void> {
  if (job.rows >= MANY) say(`Comparing the ${job.rows} rows of ${job.name} with the warehouse …`);
  // Row numbers have changed, so earlier ledger lines do not prove that the slices are loaded.
  await tx.query('DELETE FROM load_ledger WHERE job = $1', [job.job]);
  await stageKeys(tx, rowsFiles);
  await match(tx, job.job);
  await tx.query(
    `UPDATE row_store AS e SET row_number = m.n, slice = coalesce(m.slice, e.slice),
       vanished_at = CASE WHEN m.n IS NULL THEN coalesce(e.vanished_at, now()) END,
       outdated_at = CASE WHEN m.outdated THEN coalesce(e.outdated_at, now()) END,
       error_message = CASE WHEN m.bad AND m.n IS NOT NULL THEN m.m ELSE e.error_message END
     FROM matched m WHERE e.id = m.rid AND m.changed`,
  );
  await copyKnownAnswers(tx, job, rowsFiles);
  await tx.query(
    `INSERT INTO load_ledger
     SELECT $1, $2, s.slice, count(*), 'unchanged', now()
     FROM staged s LEFT JOIN matched m ON m.n = s.n AND m.good
     GROUP BY s.slice HAVING count(*) = count(m.n)`,
    [job.job, job.generation],
  );
}

/** Stages the whole input without its cells: hashes of rows, and their current numbers. */
async function stageKeys(tx: PgTransaction, rowsFiles: readonly string[]): Promise<void> {
  await makeLineTables(tx);
  await tx.query(
    'CREATE TEMP TABLE staged (n bigint, h text, k text, m text, slice integer, occurrence bigint) ON COMMIT DROP',
  );
  for (const [slice, file] of rowsFiles.entries()) {
    await readSlice(tx, file);
    await tx.query(
      `INSERT INTO staged SELECT n, h, k, m, $1 FROM row_lines, json_to_record(line) AS r(n bigint, h text, k text, m text)`,
      [slice],
    );
  }
  await tx.query(
    `UPDATE staged s SET occurrence = t.turn
     FROM (SELECT n, row_number() OVER (PARTITION BY h ORDER BY n) AS turn FROM staged) t WHERE t.n = s.n`,
  );
  await tx.query('ANALYZE staged');
}

async function readSlice(tx: PgTransaction, file: string): Promise<void> {
  await tx.query('TRUNCATE row_lines');
  await copyLines(tx, 'row_lines', file);
}

/**
 * Within one run, rows with equal cells have equal keys. Of the stored rows with equal cells, a row with the right answer is matched first,
 * then a visible row.
 */
async function match(tx: PgTransaction, job: string): Promise<void> {
  await tx.query(
    `CREATE TEMP TABLE matched (rid bigint, good boolean, n bigint, slice integer, m text, bad boolean, outdated boolean,
       changed boolean) ON COMMIT DROP`,
  );
  await tx.query(
    `INSERT INTO matched
     WITH known AS (SELECT h, min(k) AS k FROM staged GROUP BY h),
     old AS (
       SELECT e.id, e.row_hash, e.unit_key, e.row_number, e.slice, e.vanished_at, e.outdated_at,
         e.unit_key IS NOT DISTINCT FROM known.k AND NOT ${stale('e')} AS good,
         row_number() OVER (PARTITION BY e.row_hash ORDER BY (e.unit_key IS NOT DISTINCT FROM known.k) DESC,
           (e.vanished_at IS NULL) DESC, e.row_number, e.id) AS occurrence
       FROM row_store e LEFT JOIN known ON known.h = e.row_hash WHERE e.job = $1)
     SELECT old.id, old.good, s.n, s.slice, s.m, old.unit_key IS NULL,
       old.unit_key IS DISTINCT FROM s.k AND s.n IS NOT NULL,
       s.n IS DISTINCT FROM old.row_number OR (s.n IS NOT NULL AND (s.slice <> old.slice OR old.vanished_at IS NOT NULL
         OR (old.outdated_at IS NOT NULL) <> (old.unit_key IS DISTINCT FROM s.k)))
     FROM old LEFT JOIN staged s ON s.h = old.row_hash AND s.occurrence = old.occurrence`,
    [job],
  );
  await tx.query('ANALYZE matched');
}

/**
 * Copies known answers to rows with new cells. Such a row (copied, or with another column edited) may have the same unit as
 * another row of the job. The answer is copied from that row, because the journal may have pruned the body.
 */
async function copyKnownAnswers(tx: PgTransaction, job: JobRecord, rowsFiles: readonly string[]): Promise<void> {
  await tx.query('CREATE TEMP TABLE copied (n bigint, slice integer, rid bigint) ON COMMIT DROP');
  await tx.query(
    `INSERT INTO copied
     SELECT s.n, s.slice, donor.id
     FROM staged s
     JOIN (SELECT DISTINCT ON (unit_key) unit_key, id FROM row_store e
           WHERE e.job = $1 AND e.unit_key IS NOT NULL AND NOT ${stale('e')} ORDER BY unit_key, fetched_at DESC) donor
       ON donor.unit_key = s.k
     WHERE NOT EXISTS (SELECT FROM matched m WHERE m.n = s.n AND m.good)`,
    [job.job],
  );
  const slices = await tx.query<{ slice: number }>('SELECT DISTINCT slice FROM copied ORDER BY slice');
  for (const { slice } of slices) {
    await readSlice(tx, rowsFiles[slice] as string);
    await tx.query(
      `INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
         error_message, http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at,
         row_exact, answer_exact)
       SELECT e.job, e.origin, $1, c.slice, r.n, r.h, r.k, r.u, r.i, e.status, e.error_tag,
         CASE WHEN e.status = 'success' THEN e.error_message END, e.http_status, e.source, e.title, e.author, e.published_date, e.response, e.request_id, 0, e.fetched_at, now(),
         r.exact::json, e.answer_exact
       FROM (${stagedRows}) r JOIN copied c ON c.n = r.n JOIN row_store e ON e.id = c.rid`,
      [job.generation],
    );
  }
  // Answers to other options are replaced, as in a load.
  await tx.query('DELETE FROM row_store WHERE id IN (SELECT m.rid FROM matched m JOIN copied c ON c.n = m.n)');
  await tx.query('DELETE FROM matched WHERE n IN (SELECT n FROM copied)');
  await tx.query('INSERT INTO matched (n, good) SELECT n, true FROM copied');
}
