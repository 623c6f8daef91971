import type { DuckDBConnection } from '@duckdb/node-api';
import type { JobRecord } from '../../../core/rows/row-warehouse.js';
import { plainPaths, stagedKeys, stagedRows } from '../driver/read-files.js';
import { stale } from './freshness.js';

/** Work on at least this many rows is reported as a long operation. */
const MANY = 100_000;

/**
 * Updates the rows of a job to new content or new options of its input, in the caller's transaction. Rows are matched by their
 * cells; rows with equal cells are matched in their order. Afterwards each visible row has its number in the new input, and
 * each vanished row is marked. Answers to other options are marked as outdated, and the ledger lists the complete slices.
 */
export async function reconcile(
  connection: DuckDBConnection,
  job: JobRecord,
  rowsFiles: readonly string[],
  say: (sentence: string) => void,
): Promise<void> {
  if (job.rows >= MANY) say(`Comparing the ${job.rows} rows of ${job.name} with the warehouse …`);
  const { listValue } = await import('@duckdb/node-api');
  const rows = listValue(plainPaths(rowsFiles));
  const files = listValue([...rowsFiles]);
  const now = BigInt(Date.now());
  // Row numbers have changed, so earlier ledger lines do not prove that the slices are loaded.
  await connection.run('DELETE FROM load_ledger WHERE job = $job', { job: job.job });
  await connection.run(
    `CREATE TEMP TABLE staged AS
     SELECT n, h, k, m, (list_position($files::VARCHAR[], filename) - 1)::INTEGER AS slice,
       row_number() OVER (PARTITION BY h ORDER BY n) AS occurrence
     FROM ${stagedKeys}`,
    { rows, files },
  );
  // Within one run, rows with equal cells have equal keys. Of the stored rows with equal cells, a row with the right answer is matched
  // first, then a visible row.
  await connection.run(
    `CREATE TEMP TABLE matched AS
     WITH known AS (SELECT h, any_value(k) AS k FROM staged GROUP BY h),
     old AS (
       SELECT e.rowid AS rid, e.row_hash, e.unit_key, e.row_number, e.slice, e.vanished_at, e.outdated_at,
         e.unit_key IS NOT DISTINCT FROM known.k AND NOT ${stale('e')} AS good,
         row_number() OVER (PARTITION BY e.row_hash ORDER BY e.unit_key IS NOT DISTINCT FROM known.k DESC,
           e.vanished_at IS NULL DESC, e.row_number, e.rowid) AS occurrence
       FROM row_store e LEFT JOIN known ON known.h = e.row_hash WHERE e.job = $job)
     SELECT old.rid, old.good, s.n, s.slice, s.m, old.unit_key IS NULL AS bad,
       old.unit_key IS DISTINCT FROM s.k AND s.n IS NOT NULL AS outdated,
       s.n IS DISTINCT FROM old.row_number OR (s.n IS NOT NULL AND (s.slice <> old.slice OR old.vanished_at IS NOT NULL
         OR (old.outdated_at IS NOT NULL) <> (old.unit_key IS DISTINCT FROM s.k))) AS changed
     FROM old LEFT JOIN staged s ON s.h = old.row_hash AND s.occurrence = old.occurrence`,
    { job: job.job },
  );
  await connection.run(
    `UPDATE row_store AS e SET row_number = m.n, slice = coalesce(m.slice, e.slice),
       vanished_at = CASE WHEN m.n IS NULL THEN coalesce(e.vanished_at, make_timestamp_ms($now::BIGINT)) END,
       outdated_at = CASE WHEN m.outdated THEN coalesce(e.outdated_at, make_timestamp_ms($now::BIGINT)) END,
       error_message = CASE WHEN m.bad AND m.n IS NOT NULL THEN m.m ELSE e.error_message END
     FROM matched m WHERE e.rowid = m.rid AND m.changed`,
    { now },
  );
  await copyKnownAnswers(connection, job, rows);
  await connection.run(
    `INSERT INTO load_ledger
     SELECT $job, $generation, s.slice, count(*), 'unchanged', make_timestamp_ms($now::BIGINT)
     FROM staged s LEFT JOIN matched m ON m.n = s.n AND m.good
     GROUP BY s.slice HAVING count(*) = count(m.n)`,
    { job: job.job, generation: job.generation, now },
  );
}

/**
 * Copies known answers to rows with new cells. Such a row (copied, or with another column edited) may have the same unit as
 * another row of the job. The answer is copied from that row, because the journal may have pruned the body.
 */
async function copyKnownAnswers(connection: DuckDBConnection, job: JobRecord, rows: unknown): Promise<void> {
  await connection.run(
    `CREATE TEMP TABLE copied AS
     SELECT s.n, s.slice, s.h, s.k, donor.rid
     FROM staged s
     ANTI JOIN matched m ON m.n = s.n AND m.good
     JOIN (SELECT unit_key, arg_max(rowid, fetched_at) AS rid FROM row_store e
           WHERE e.job = $job AND e.unit_key IS NOT NULL AND NOT ${stale('e')} GROUP BY unit_key) donor ON donor.unit_key = s.k`,
    { job: job.job },
  );
  const reader = await connection.runAndReadAll('SELECT count(*) FROM copied');
  if (Number(reader.getRowsJson()[0]?.[0]) === 0) return;
  const { LIST, VARCHAR } = await import('@duckdb/node-api');
  await connection.run(
    `INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
       error_message, http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at)
     SELECT e.job, e.origin, $generation, c.slice, c.n, c.h, c.k, r.u, r.i, e.status, e.error_tag,
       CASE WHEN e.status = 'success' THEN e.error_message END, e.http_status, e.source,
       e.title, e.author, e.published_date, e.response, e.request_id, 0, e.fetched_at, make_timestamp_ms($now::BIGINT)
     FROM copied c JOIN row_store e ON e.rowid = c.rid JOIN ${stagedRows} r ON r.n = c.n`,
    { generation: job.generation, now: BigInt(Date.now()), rows: rows as never },
    { rows: LIST(VARCHAR) } as never,
  );
  // Answers to other options are replaced, as in a load.
  await connection.run('DELETE FROM row_store WHERE rowid IN (SELECT m.rid FROM matched m JOIN copied c ON c.n = m.n)');
  await connection.run('DELETE FROM matched WHERE n IN (SELECT n FROM copied)');
  await connection.run('INSERT INTO matched (n, good) SELECT n, true FROM copied');
}
