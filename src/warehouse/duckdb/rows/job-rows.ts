import type { DuckDBConnection } from '@duckdb/node-api';
import type { Json } from '../../../core/text/json.js';
import type { JobRows } from '../../export/job-rows.js';
import { jobColumns, type StoredRequest, storedShape } from '../../rows/job-columns.js';
import { literal } from '../../shared/duckdb-quote.js';
import { unknownJob } from '../../shared/warehouse-summary.js';

/** The rows of a job for exports, read directly from the warehouse file. */
export async function jobRows(connection: DuckDBConnection, job: string, warehouse: string): Promise<JobRows> {
  const reader = await connection.runAndReadAll(
    `SELECT columns, operation, options, request, input, (SELECT coalesce(max(row_number), 0) FROM row_store WHERE job = $job)
     FROM searchflow_jobs WHERE job = $job`,
    { job },
  );
  const [columns, operation, options, request, input, last] = reader.getRowsJson()[0] ?? [];
  if (columns === undefined) throw unknownJob(job, warehouse);
  return {
    input: String(input),
    columns: columns as string[],
    results: jobColumns(
      storedShape({
        operation: String(operation),
        options: JSON.parse(String(options)) as Json,
        request: typeof request === 'string' ? (JSON.parse(request) as StoredRequest) : null,
      }),
    ),
    last: Number(last),
    part: async (from, to) =>
      `SELECT * FROM row_store WHERE job = ${literal(job)} AND row_number BETWEEN ${from} AND ${to} AND vanished_at IS NULL`,
  };
}
