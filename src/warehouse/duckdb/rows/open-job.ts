import type { DuckDBConnection } from '@duckdb/node-api';
import type { Freshness } from '../../../core/purchase/freshness.js';
import type { JobRecord } from '../../../core/rows/row-warehouse.js';
import { jobColumns, storedRequest } from '../../rows/job-columns.js';
import { checkGeneration, slicesLackingRows } from '../../shared/ledger.js';
import { chooseViewName, makeView } from '../dialect/job-view.js';
import { stale, useFreshness } from './freshness.js';
import { reconcile } from './vanished-rows.js';

/** See `RowWarehouse.openJob`. Runs in the caller's transaction. */
export async function openJob(
  connection: DuckDBConnection,
  job: JobRecord,
  rowsFiles: readonly string[],
  freshness: Freshness | undefined,
  say: (sentence: string) => void,
): Promise<readonly number[]> {
  const reader = await connection.runAndReadAll(
    'SELECT generation, epoch_ms(created_at), view_name FROM searchflow_jobs WHERE job = $job',
    { job: job.job },
  );
  const [generation, createdAt, viewName] = reader.getRowsJson()[0] ?? [];
  await useFreshness(connection, freshness);
  if (generation !== job.generation) {
    const view = viewName === undefined ? await chooseViewName(connection, job.name) : String(viewName);
    await record(connection, job, view, createdAt === undefined ? Date.now() : Number(createdAt));
    await makeView(connection, view, job.job, job.columns, jobColumns(job));
    if (generation !== undefined) await reconcile(connection, job, rowsFiles, say);
  } else {
    await forgetUnwhole(connection, job, freshness);
  }
  return slicesToLoad(connection, job);
}

/** See `RowWarehouse.unloadedSlices`. Runs in the caller's transaction. */
export async function unloadedSlices(
  connection: DuckDBConnection,
  job: JobRecord,
  freshness: Freshness | undefined,
): Promise<readonly number[]> {
  const reader = await connection.runAndReadAll('SELECT generation FROM searchflow_jobs WHERE job = $job', {
    job: job.job,
  });
  checkGeneration(job.job, job.generation, reader.getRowsJson()[0]?.[0]);
  await useFreshness(connection, freshness);
  await forgetUnwhole(connection, job, freshness);
  return slicesToLoad(connection, job);
}

/** Deletes the ledger lines of slices that lack rows or have stale answers. */
async function forgetUnwhole(
  connection: DuckDBConnection,
  { job, generation }: JobRecord,
  freshness: Freshness | undefined,
): Promise<void> {
  await connection.run(
    `DELETE FROM load_ledger WHERE job = $job AND generation = $generation
       AND slice IN (${slicesLackingRows('$job', '$generation')})`,
    { job, generation },
  );
  if (freshness === undefined) return;
  await connection.run(
    `DELETE FROM load_ledger WHERE job = $job AND slice IN (
       SELECT DISTINCT e.slice FROM row_store e WHERE e.job = $job AND e.row_number IS NOT NULL AND ${stale('e')})`,
    { job },
  );
}

/** Slices without a ledger line. */
async function slicesToLoad(connection: DuckDBConnection, job: JobRecord): Promise<readonly number[]> {
  const reader = await connection.runAndReadAll(
    `SELECT range::INTEGER FROM range($slices::BIGINT) WHERE range NOT IN (
       SELECT slice FROM load_ledger WHERE job = $job AND generation = $generation) ORDER BY range`,
    { slices: BigInt(job.slices), job: job.job, generation: job.generation },
  );
  return reader.getRowsJson().map((row) => Number(row[0]));
}

async function record(connection: DuckDBConnection, job: JobRecord, view: string, createdAt: number): Promise<void> {
  const { listValue } = await import('@duckdb/node-api');
  await connection.run('DELETE FROM searchflow_jobs WHERE job = $job', { job: job.job });
  await connection.run(
    `INSERT INTO searchflow_jobs (job, name, view_name, origin, operation, input, columns, generation, options, request, rows, slices, created_at,
       opened_at)
     VALUES ($job, $name, $view, $origin, $operation, $input, $columns, $generation, $options, $request, $rows, $slices,
       make_timestamp_ms($created::BIGINT), make_timestamp_ms($now::BIGINT))`,
    {
      job: job.job,
      name: job.name,
      view,
      origin: job.origin,
      operation: job.operation,
      input: job.input,
      columns: listValue([...job.columns]),
      generation: job.generation,
      options: JSON.stringify(job.options),
      request: job.request ? JSON.stringify(storedRequest(job)) : null,
      rows: BigInt(job.rows),
      slices: job.slices,
      created: BigInt(createdAt),
      now: BigInt(Date.now()),
    },
  );
}
