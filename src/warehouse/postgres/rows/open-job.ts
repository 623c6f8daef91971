import type { Freshness } from '../../../core/purchase/freshness.js';
import type { JobRecord } from '../../../core/rows/row-warehouse.js';
import type { Json } from '../../../core/text/json.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { jobColumns, type StoredRequest, storedRequest, storedShape } from '../../rows/job-columns.js';
import { checkGeneration, slicesLackingRows } from '../../shared/ledger.js';
import { mendForPostgres } from '../../shared/mend-escapes.js';
import { chooseViewName, makeView } from '../dialect/job-view.js';
import { lockJob } from '../driver/locks.js';
import { stale, useFreshness } from './freshness.js';
import { reconcile } from './vanished-rows.js';

interface Before {
  readonly generation: string;
  readonly view_name: string;
  readonly operation: string;
  readonly options: Json;
  readonly request: StoredRequest | null;
}

/** See `RowWarehouse.openJob`. Runs in the caller's transaction. */
export async function openJob(
  tx: PgTransaction,
  schema: string,
  job: JobRecord,
  rowsFiles: readonly string[],
  freshness: Freshness | undefined,
  say: (sentence: string) => void,
): Promise<readonly number[]> {
  await lockJob(tx, job.job);
  // Renumbering the rows of a large job takes longer than any load.
  await tx.allow(3_600_000);
  const [before] = await tx.query<Before>(
    'SELECT generation, view_name, operation, options, request FROM searchflow_jobs WHERE job = $1',
    [job.job],
  );
  await useFreshness(tx, freshness);
  if (before?.generation !== job.generation) {
    const view = before?.view_name ?? (await chooseViewName(tx, job.name));
    await record(tx, job, view);
    const added = jobColumns(job);
    const unchanged = before !== undefined && JSON.stringify(jobColumns(storedShape(before))) === JSON.stringify(added);
    await makeView(tx, schema, view, job.job, job.columns, added, unchanged);
    if (before !== undefined) await reconcile(tx, job, rowsFiles, say);
  } else {
    await forgetUnwhole(tx, job, freshness);
  }
  return slicesToLoad(tx, job);
}

/** See `RowWarehouse.unloadedSlices`. Runs in the caller's transaction. */
export async function unloadedSlices(
  tx: PgTransaction,
  job: JobRecord,
  freshness: Freshness | undefined,
): Promise<readonly number[]> {
  await lockJob(tx, job.job);
  const [current] = await tx.query<Pick<Before, 'generation'>>(
    'SELECT generation FROM searchflow_jobs WHERE job = $1',
    [job.job],
  );
  checkGeneration(job.job, job.generation, current?.generation);
  await useFreshness(tx, freshness);
  await forgetUnwhole(tx, job, freshness);
  return slicesToLoad(tx, job);
}

/** Deletes the ledger lines of slices that lack rows or have stale answers. */
async function forgetUnwhole(
  tx: PgTransaction,
  { job, generation }: JobRecord,
  freshness: Freshness | undefined,
): Promise<void> {
  await tx.query(
    `DELETE FROM load_ledger WHERE job = $1 AND generation = $2 AND slice IN (${slicesLackingRows('$1', '$2')})`,
    [job, generation],
  );
  if (freshness === undefined) return;
  await tx.query(
    `DELETE FROM load_ledger WHERE job = $1 AND slice IN (
       SELECT e.slice FROM row_store e WHERE e.job = $1 AND e.row_number IS NOT NULL AND ${stale('e')})`,
    [job],
  );
}

/** Slices without a ledger line. */
async function slicesToLoad(tx: PgTransaction, job: JobRecord): Promise<readonly number[]> {
  const slices = await tx.query<{ slice: number }>(
    `SELECT slice FROM generate_series(0, $2::integer - 1) AS slice WHERE slice NOT IN (
       SELECT slice FROM load_ledger WHERE job = $1 AND generation = $3) ORDER BY slice`,
    [job.job, job.slices, job.generation],
  );
  return slices.map(({ slice }) => slice);
}

async function record(tx: PgTransaction, job: JobRecord, view: string): Promise<void> {
  await tx.query(
    `INSERT INTO searchflow_jobs AS known (job, name, view_name, origin, operation, input, columns, generation, options, request,
       rows, slices, created_at, opened_at)
     SELECT job, name, $2, origin, operation, input, columns, generation, options, request, rows, slices, now(), now()
     FROM json_to_record($1::json) AS r(job text, name text, origin text, operation text, input text, columns text[],
       generation text, options jsonb, request json, rows bigint, slices integer)
     ON CONFLICT (job) DO UPDATE SET name = excluded.name, origin = excluded.origin, operation = excluded.operation,
       input = excluded.input, columns = excluded.columns, generation = excluded.generation, options = excluded.options, request = excluded.request,
       rows = excluded.rows, slices = excluded.slices, opened_at = excluded.opened_at`,
    [mendForPostgres(JSON.stringify({ ...job, request: storedRequest(job) })), view],
  );
}
