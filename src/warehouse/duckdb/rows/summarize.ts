import type { DuckDBConnection } from '@duckdb/node-api';
import type { WarehouseSummary } from '../../../core/rows/row-warehouse.js';
import { summaryOf, unknownJob } from '../../shared/warehouse-summary.js';

/** See `RowWarehouse.summary`. */
export async function summarize(connection: DuckDBConnection, job: string, file: string): Promise<WarehouseSummary> {
  const jobs = await connection.runAndReadAll('SELECT rows FROM searchflow_jobs WHERE job = $job', { job });
  const record = jobs.getRowsJson()[0];
  if (record === undefined) throw unknownJob(job, file);
  const reader = await connection.runAndReadAll(
    `SELECT CASE WHEN vanished_at IS NULL THEN status ELSE 'vanished' END AS status, error_tag, count(*)
     FROM row_store WHERE job = $job AND (outdated_at IS NULL OR vanished_at IS NOT NULL) GROUP BY ALL ORDER BY 3 DESC, 2`,
    { job },
  );
  const groups = reader.getRowsJson().map(([status, tag, count]) => ({
    status: String(status),
    tag: tag === null || tag === undefined ? null : String(tag),
    count: Number(count),
  }));
  return summaryOf(Number(record[0]), groups);
}
