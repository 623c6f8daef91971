import type { DuckDBConnection } from '@duckdb/node-api';
import type { JobRows } from '../export/job-rows.js';
import { unknownJob } from '../warehouse-summary.js';
import { literal } from './quote.js';

/** The rows of a job for exports, where they are. */
export async function jobRows(connection: DuckDBConnection, job: string, warehouse: string): Promise<JobRows> {
  const reader = await connection.runAndReadAll(
    `SELECT columns, options, (SELECT coalesce(max(row_number), 0) FROM row_store WHERE job = $job)
     FROM searchflow_jobs WHERE job = $job`,
    { job },
  );
  const [columns, options, last] = reader.getRowsJson()[0] ?? [];
  if (columns === undefined) throw unknownJob(job, warehouse);
  return {
    columns: columns as string[],
    options: JSON.parse(String(options)) as Record<string, unknown>,
    last: Number(last),
    part: async (from, to) =>
      `SELECT * FROM row_store WHERE job = ${literal(job)} AND row_number BETWEEN ${from} AND ${to} AND vanished_at IS NULL`,
  };
}
