import type { DuckDBConnection } from '@duckdb/node-api';
import type { Freshness } from '../../core/journal.js';
import { type LoadBatch, SinkUnusable } from '../../core/sink.js';
import { withMendedFiles } from './mend-surrogates.js';
import { makePending } from './pending.js';
import { plainPaths, unitRecords } from './read-files.js';

/** Loads one slice inside of the caller's transaction: rows and ledger line, or neither. */
export async function loadSlice(
  connection: DuckDBConnection,
  batch: LoadBatch,
  freshness: Freshness | undefined,
): Promise<{ readonly rows: number; readonly already: boolean }> {
  const { job, generation, slice } = batch;
  const line = await connection.runAndReadAll(
    'SELECT rows FROM load_ledger WHERE job = $job AND generation = $generation AND slice = $slice',
    { job, generation, slice },
  );
  if (line.currentRowCount > 0) return { rows: Number(line.getRowsJson()[0]?.[0]), already: true };
  const origin = await currentOrigin(connection, batch);
  await makePending(connection, { job, rowsFile: batch.rowsFile, cells: true }, freshness);
  await readUnits(connection, batch.unitFiles);
  if ((await countMissing(connection)) > 0) {
    await withMendedFiles(batch.unitFiles, (files) => readUnits(connection, files));
    const missing = await countMissing(connection);
    if (missing > 0)
      throw new Error(
        `${missing} unit(s) of slice ${slice} of ${job} are in none of its unit files; nothing was loaded`,
      );
  }
  await connection.run('DELETE FROM enriched_rows WHERE job = $job AND row_number IN (SELECT n FROM pending)', { job });
  const now = BigInt(Date.now());
  await connection.run(insertRows, { job, origin, generation, slice, now });
  await connection.run(
    `INSERT INTO load_ledger SELECT $job, $generation, $slice, (SELECT count(*) FROM staged), $attempt, make_timestamp_ms($now::BIGINT)`,
    { job, generation, slice, attempt: batch.attempt, now },
  );
  const counted = await connection.runAndReadAll('SELECT count(*) FROM staged');
  return { rows: Number(counted.getRowsJson()[0]?.[0]), already: false };
}

/** Fences an attempt of another generation: its rows would land at places that now belong to other rows. */
async function currentOrigin(connection: DuckDBConnection, { job, generation }: LoadBatch): Promise<string> {
  const jobs = await connection.runAndReadAll('SELECT generation, origin FROM searchflow_jobs WHERE job = $job', {
    job,
  });
  const [current, origin] = jobs.getRowsJson()[0] ?? [];
  if (current === undefined) throw new Error(`the job ${job} was not opened in this warehouse`);
  if (current === generation) return String(origin);
  throw new SinkUnusable(
    `The job ${job} has meanwhile been started with other content or options; this run of it can't load any more`,
  );
}

async function readUnits(connection: DuckDBConnection, files: readonly string[]): Promise<void> {
  const { listValue } = await import('@duckdb/node-api');
  // Without files there is nothing to read, but the table is needed all the same.
  const source = files.length > 0 ? unitRecords : noUnits;
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE units AS
     SELECT * FROM ${source} WHERE key IN (SELECT k FROM pending)
     QUALIFY row_number() OVER (PARTITION BY key ORDER BY fetched_at DESC NULLS LAST) = 1`,
    files.length > 0 ? { units: listValue(plainPaths(files)) } : {},
  );
}

const noUnits = `(SELECT NULL::VARCHAR AS key, NULL::VARCHAR AS request_id, NULL::TIMESTAMP AS fetched_at, NULL::BIGINT AS cost_micros,
  NULL::VARCHAR AS status, NULL::VARCHAR AS error_tag, NULL::INTEGER AS http_status, NULL::VARCHAR AS source, NULL::JSON AS result LIMIT 0)`;

async function countMissing(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    'SELECT count(DISTINCT k) FROM pending WHERE k IS NOT NULL AND k NOT IN (SELECT key FROM units)',
  );
  return Number(reader.getRowsJson()[0]?.[0]);
}

const insertRows = `
INSERT INTO enriched_rows (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
  error_message, http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at)
SELECT $job, $origin, $generation, $slice, p.n, p.h, p.k, p.u, p.i,
  CASE WHEN p.k IS NULL THEN 'invalid' ELSE u.status END,
  CASE WHEN p.k IS NULL THEN p.e ELSE u.error_tag END,
  p.m, u.http_status, u.source,
  u.result->>'$.title', u.result->>'$.author', u.result->>'$.publishedDate', u.result, u.request_id,
  -- What was bought once is counted once, whichever row of the job had it first.
  CASE WHEN p.k IS NULL OR counted.unit_key IS NOT NULL OR row_number() OVER (PARTITION BY p.k ORDER BY p.n) > 1
    THEN 0 ELSE u.cost_micros END,
  u.fetched_at, make_timestamp_ms($now::BIGINT)
FROM pending p
LEFT JOIN units u ON u.key = p.k
LEFT JOIN (
  SELECT DISTINCT e.unit_key, e.fetched_at FROM enriched_rows e SEMI JOIN units c ON c.key = e.unit_key
  WHERE e.job = $job AND e.cost_micros > 0
) counted ON counted.unit_key = p.k AND counted.fetched_at = u.fetched_at
ORDER BY p.n`;
