import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type { JobRecord } from '../../core/rows/row-warehouse.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { Transaction } from '../dialect.js';
import { jobColumns, storedRequest } from './job-columns.js';
import { chooseViewName, renewJobView } from './job-view.js';
import { listMisfits } from './misfits.js';
import { keepKnownRows, reconcile } from './reconcile.js';
import { currentRow, insertInto, recordsOf, stale, useFreshness } from './row-sql.js';
import { jobs } from './row-tables.js';

/** See `RowLoads.openJob`. Runs in the caller's transaction. */
export async function openJob(
  tx: Transaction,
  job: JobRecord,
  rowsFiles: readonly string[],
  freshness: RetryFreshness | undefined,
  say: (sentence: string) => void,
): Promise<readonly number[]> {
  await tx.lock({ job: job.job });
  const [before] = await tx.rows<{ generation: string; view_name: string }>(
    'SELECT generation, view_name FROM searchflow_jobs WHERE job = $1',
    [job.job],
  );
  await useFreshness(tx, freshness);
  const view = before?.view_name ?? (await chooseViewName(tx, job.name));
  const added = jobColumns(job);
  const hasOtherColumns = await renewJobView(tx, view, job, added);
  if (before?.generation !== job.generation) {
    await record(tx, job, before === undefined ? view : null);
    if (before !== undefined) {
      await reconcile(tx, job, rowsFiles, say);
      // Rows have other numbers, or their columns other types.
      await listMisfits(tx, { ...job, results: added });
      await keepKnownRows(tx, { ...job, results: added }, hasOtherColumns);
    }
  } else {
    await forgetUnwhole(tx, job, freshness);
  }
  return slicesToLoad(tx, job);
}

/** See `RowLoads.unloadedSlices`. Runs in the caller's transaction. */
export async function unloadedSlices(
  tx: Transaction,
  job: JobRecord,
  freshness: RetryFreshness | undefined,
): Promise<readonly number[]> {
  await tx.lock({ job: job.job });
  const [current] = await tx.rows<{ generation: string }>('SELECT generation FROM searchflow_jobs WHERE job = $1', [
    job.job,
  ]);
  checkGeneration(job.job, job.generation, current?.generation);
  await useFreshness(tx, freshness);
  await forgetUnwhole(tx, job, freshness);
  return slicesToLoad(tx, job);
}

/**
 * Throws if the warehouse has another generation of the job, because row numbers would belong to other rows. `current`: the generation in
 * the warehouse, or undefined.
 */
export function checkGeneration(job: string, generation: string, current: string | undefined): void {
  if (current === generation) return;
  throw new WarehouseUnusable(
    current === undefined ? 'warehouse-rows-lost' : 'job-replaced',
    current === undefined
      ? `The warehouse of ${job} was deleted or replaced while the job ran; the same command loads it again from the journal`
      : `The job ${job} has been started with other content or options; this run can no longer load`,
  );
}

/**
 * Slices, by the parameters job and generation, whose ledger line names more rows than exist, because a person deleted rows. The rows are
 * counted once: PostgreSQL might count them again for each slice, because it has no statistics of a new job.
 */
export const slicesLackingRows = `WITH loaded AS MATERIALIZED (
      SELECT e.slice, count(*) AS present FROM row_store e
      WHERE ${currentRow} GROUP BY e.slice)
    SELECT l.slice FROM load_ledger l LEFT JOIN loaded r ON r.slice = l.slice
    WHERE l.job = $1 AND l.generation = $2 AND l.rows > coalesce(r.present, 0)`;

/** Deletes the ledger lines of slices that lack rows or have stale answers. */
async function forgetUnwhole(
  tx: Transaction,
  { job, generation }: JobRecord,
  freshness: RetryFreshness | undefined,
): Promise<void> {
  await tx.run(`DELETE FROM load_ledger WHERE job = $1 AND generation = $2 AND slice IN (${slicesLackingRows})`, [
    job,
    generation,
  ]);
  if (freshness === undefined) return;
  await tx.run(
    `DELETE FROM load_ledger WHERE job = $1 AND slice IN (
       SELECT DISTINCT e.slice FROM row_store e WHERE e.job = $1 AND e.row_number IS NOT NULL AND ${stale})`,
    [job],
  );
}

async function slicesToLoad(tx: Transaction, { job, generation, slices }: JobRecord): Promise<readonly number[]> {
  const lines = await tx.rows<{ slice: number }>('SELECT slice FROM load_ledger WHERE job = $1 AND generation = $2', [
    job,
    generation,
  ]);
  const loaded = new Set(lines.map(({ slice }) => slice));
  return Array.from({ length: slices }, (_, slice) => slice).filter((slice) => !loaded.has(slice));
}

/** Records a job, with its view if the job is new. */
async function record(tx: Transaction, job: JobRecord, view: string | null): Promise<void> {
  const { values, from } = recordsOf(tx, jobs, ['view_name', 'created_at', 'opened_at']);
  const text = tx.dialect.json(JSON.stringify([{ ...job, request: storedRequest(job) ?? undefined }]));
  const now = tx.dialect.now();
  if (view !== null) {
    const all = { ...values, view_name: '$2', created_at: now, opened_at: now };
    await tx.run(insertInto('searchflow_jobs', all, from), [text, view]);
  } else {
    const changes = Object.entries({ ...values, opened_at: now }).map(([name, value]) => `${name} = ${value}`);
    await tx.run(`UPDATE searchflow_jobs AS known SET ${changes.join(', ')} ${from} WHERE known.job = r.job`, [text]);
  }
}
