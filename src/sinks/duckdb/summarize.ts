import type { DuckDBConnection } from '@duckdb/node-api';
import { SinkUnusable, type WarehouseSummary } from '../../core/sink.js';

/** `Sink.summary`: `success + error + invalid + missing = rows`; answers to other options count as missing. */
export async function summarize(connection: DuckDBConnection, job: string, file: string): Promise<WarehouseSummary> {
  const rows = await jobRows(connection, job, file);
  const reader = await connection.runAndReadAll(
    `SELECT CASE WHEN vanished_at IS NULL THEN status ELSE 'vanished' END AS status, error_tag, count(*)
     FROM row_store WHERE job = $job AND (outdated_at IS NULL OR vanished_at IS NOT NULL) GROUP BY ALL ORDER BY 3 DESC, 2`,
    { job },
  );
  const counts: Record<string, number> = { success: 0, error: 0, invalid: 0, vanished: 0 };
  const tags: Record<string, number> = {};
  for (const [status, tag, count] of reader.getRowsJson()) {
    const name = String(status);
    counts[name] = (counts[name] ?? 0) + Number(count);
    if (name !== 'vanished' && tag !== null) tags[String(tag)] = (tags[String(tag)] ?? 0) + Number(count);
  }
  const { success = 0, error = 0, invalid = 0, vanished = 0 } = counts;
  return { rows, success, error, invalid, missing: rows - success - error - invalid, vanished, tags };
}

async function jobRows(connection: DuckDBConnection, job: string, file: string): Promise<number> {
  const reader = await connection.runAndReadAll('SELECT rows FROM searchflow_jobs WHERE job = $job', { job });
  const row = reader.getRowsJson()[0];
  if (row === undefined) throw unknownJob(job, file);
  return Number(row[0]);
}

export function unknownJob(job: string, file: string): SinkUnusable {
  return new SinkUnusable(`There is no job ${job} in ${file}: run it first, or name the right warehouse`);
}
