import { CodedError } from '../../core/errors/coded-error.js';
import { leftOut } from '../../core/purchase/failure-tags.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type { LoadBatch, RowLoads } from '../../core/rows/row-warehouse.js';
import { TooMuchAtOnce, WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { Database } from '../database.js';
import type { Transaction } from '../dialect.js';
import { literal } from '../shared/duckdb-quote.js';
import { keepRows } from '../sink-batches.js';
import { answerOf, factFields } from './answers.js';
import { rowIdentity } from './duckdb-result-sql.js';
import { type InputColumns, resultColumnsOf, type StoredTexts, storedTexts } from './job-columns.js';
import { listMisfits } from './misfits.js';
import { checkGeneration } from './open-job.js';
import {
  countedRows,
  insertInto,
  type NumberedRows,
  numbersOf,
  stale,
  useFreshness,
  withoutForgotten,
} from './row-sql.js';

export interface Pending extends NumberedRows {
  readonly units: number;
  /** Number of rows in `staged`. */
  readonly staged: number;
  /** Whether the warehouse had rows of the job with the numbers of the staged rows. */
  readonly occupied: boolean;
}

/**
 * Runs a load in one transaction. If a line cannot be read, or needs more memory than usual, the load is repeated in a slower way, see
 * `Transaction.readUnits`.
 */
export async function loading<T>(
  { transaction }: Database,
  work: (tx: Transaction, careful: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await transaction('write', (tx) => work(tx, false));
  } catch (error) {
    const isKnown = error instanceof WarehouseBusy || error instanceof WarehouseUnusable;
    if (isKnown && !(error instanceof TooMuchAtOnce)) throw error;
    return transaction('careful', (tx) => work(tx, true));
  }
}

/** Loads one slice in the caller's transaction: rows and ledger line, or neither. `already`: another attempt has loaded it. */
export async function loadSlice(
  tx: Transaction,
  batch: LoadBatch,
  freshness: RetryFreshness | undefined,
  careful: boolean,
): Promise<Awaited<ReturnType<RowLoads['load']>>> {
  const { job, generation, slice, attempt, rowsFile, partial = false } = batch;
  const before = await loadedBefore(tx, batch);
  const { origin, loaded } = before;
  if (loaded !== null) return { rows: Number(loaded), already: true };
  const pending = await makePending(tx, job, rowsFile, freshness);
  if (pending.occupied) await tx.run(`DELETE FROM row_store WHERE job = $1 AND ${numbersOf(tx, pending)}`, [job]);
  if (pending.rows > pending.units) await insertInvalid(tx, batch, origin, pending);
  if (pending.units > 0) await insertUnits(tx, batch, origin, pending, careful);
  if (pending.rows > 0) {
    const shown = { ...before, job, results: resultColumnsOf(before), piece: slice };
    await listMisfits(tx, shown, numbersOf(tx, pending));
    await keepRows(tx, shown, pending);
  }
  if (!partial)
    await tx.run(
      `INSERT INTO load_ledger (job, generation, slice, rows, attempt, loaded_at) VALUES ($1, $2, $3, $4, $5, ${tx.dialect.now()})`,
      [job, generation, slice, pending.staged, attempt],
    );
  return { rows: pending.staged, already: false };
}

/**
 * Returns the state of the slice in the warehouse, or of the job (`slice`: null), and locks it. Refuses an attempt of another generation,
 * because its row numbers now belong to other rows.
 */
export async function loadedBefore(
  tx: Transaction,
  { job, generation, slice }: Pick<LoadBatch, 'job' | 'generation'> & { readonly slice: number | null },
): Promise<{ readonly origin: string; readonly loaded: unknown } & InputColumns & StoredTexts> {
  await tx.lock(slice === null ? { job } : { job, slice });
  const [current] = await tx.rows<{ generation: string; origin: string; loaded: unknown } & InputColumns & StoredTexts>(
    `SELECT generation, origin, columns, types, ${storedTexts}, (SELECT rows FROM load_ledger WHERE job = $1 AND generation = $2 AND slice = $3) AS loaded
     FROM searchflow_jobs WHERE job = $1`,
    [job, generation, slice],
  );
  if (current !== undefined && current.loaded !== null) return current;
  checkGeneration(job, generation, current?.generation);
  return current as NonNullable<typeof current>;
}

/**
 * Creates `staged`, a temporary table of the staged rows of a slice, and finds the rows to load. A staged row is left out if the warehouse
 * has a row of the job with the same number, content and unit, and with an answer that is not stale. Usually the warehouse has no row of
 * the job with the numbers of the staged rows; then all staged rows are pending, and nothing is compared. Call this function once for each
 * transaction.
 */
export async function makePending(
  tx: Transaction,
  job: string,
  rowsFile: string,
  freshness: RetryFreshness | undefined,
): Promise<Pending> {
  await tx.readRows([rowsFile], (rows) => tx.createTemp('staged', `SELECT * FROM ${rows} s`));
  const staged = await countPending(tx, 'staged');
  // With this range the database skips the parts of the table that belong to other slices.
  const here = `e.job = $1 AND e.row_number BETWEEN ${staged.first} AND ${staged.last}`;
  const occupied = (await tx.rows(`SELECT 1 AS found FROM row_store e WHERE ${here} LIMIT 1`, [job])).length > 0;
  if (!occupied) return { ...staged, table: 'staged', staged: staged.rows, occupied };
  await useFreshness(tx, freshness);
  await tx.createTemp(
    'pending',
    `SELECT s.* FROM staged s WHERE NOT EXISTS (
         SELECT 1 FROM row_store e WHERE ${here} AND e.row_number = s.n AND e.row_hash = s.h
           AND e.unit_key IS NOT DISTINCT FROM s.k AND NOT ${stale})`,
    [job],
  );
  return { ...(await countPending(tx, 'pending')), table: 'pending', staged: staged.rows, occupied };
}

export async function countPending(tx: Transaction, table: string) {
  const [found] = await tx.rows<Omit<UnitRows, 'table'>>(
    `SELECT ${countedRows}, CAST(count(k) AS double precision) AS units FROM ${table}`,
  );
  return found as NonNullable<typeof found>;
}

/** Unit keys of the slice's pending rows, each once. If the job was never opened here, the result has the keys of all rows. */
export async function pendingKeys(
  tx: Transaction,
  job: string,
  rowsFile: string,
  freshness: RetryFreshness | undefined,
): Promise<readonly string[]> {
  const { table } = await makePending(tx, job, rowsFile, freshness);
  const keys = await tx.rows<{ k: string }>(`SELECT k FROM ${table} WHERE k IS NOT NULL GROUP BY k ORDER BY min(n)`);
  return keys.map(({ k }) => k);
}

/**
 * Columns of every row, from a relation `p` of staged rows. The job, its origin, the generation and the slice are the parameters. In a batch of
 * several slices, `p.slice` is the difference to this slice.
 */
const rowOf = ({ dialect }: Transaction) => ({
  ...{ job: '$1', origin: '$2', generation: '$3', slice: 'p.slice + $4' },
  ...{ row_number: 'p.n', row_hash: 'p.h', url: 'p.u', input: 'p.i' },
  loaded_at: dialect.now(),
  row_exact: dialect.keepsExact ? 'CAST(p.row_exact AS json)' : null,
});

type UnitRows = NumberedRows & Pick<Pending, 'units'>;

/** Units to load, and the first of their slices. */
type UnitBatch = Pick<LoadBatch, 'job' | 'generation' | 'slice' | 'unitFiles' | 'sharedAnswers'>;

const parametersOf = ({ job, generation, slice }: UnitBatch, origin: string) => [job, origin, generation, slice];

async function insertInvalid(tx: Transaction, batch: LoadBatch, origin: string, { table }: Pending): Promise<void> {
  const values = {
    ...rowOf(tx),
    ...{ status: "'invalid'", error_tag: 'p.e', error_message: 'p.m', cost_micros: '0' },
  };
  await tx.run(insertInto('row_store', values, `FROM ${table} p WHERE p.k IS NULL`), parametersOf(batch, origin));
}

/** Inserts the pending rows that have a unit. Throws unless each of these rows got exactly one answer. */
export async function insertUnits(
  tx: Transaction,
  batch: UnitBatch,
  origin: string,
  pending: UnitRows,
  careful: boolean,
): Promise<void> {
  const { dialect } = tx;
  const { table } = pending;
  const answer = answerOf(dialect, 'p');
  const unless = (value: string, text: string) => `CASE WHEN p.left_out THEN ${literal(text)} ELSE ${value} END`;
  const values = {
    ...rowOf(tx),
    ...answer,
    status: unless('p.status', 'error'),
    error_tag: unless('p.error_tag', leftOut.tag),
    error_message: unless(answer.error_message, leftOut.reason),
    // The cells of a forgotten row may come again with its input; they are not kept.
    ...withoutForgotten(tx, 'p.error_tag', { url: 'p.u', input: 'p.i', row_exact: 'CAST(p.row_exact AS json)' }),
    ...{ unit_key: 'p.key', request_id: 'p.request_id', fetched_at: 'p.fetched_at' },
    // Only the first row of a purchase has its cost.
    cost_micros: 'CASE WHEN p.d THEN 0 ELSE p.cost_micros END',
  };
  const isLeftOut = batch.sharedAnswers
    ? `r.status = 'success' AND NOT ${dialect.namesRow('r.result', rowIdentity('s.h'))}`
    : 'false';
  const fields = ['n', 'h', 'u', 'i', 'd', 'slice', ...(dialect.keepsExact ? ['row_exact'] : [])].map(
    (name) => `s.${name}`,
  );
  await tx.readUnits(batch.unitFiles, careful, (units) => {
    const joined = `(SELECT r.*, ${fields.join(', ')}, ${isLeftOut} AS left_out FROM ${units} r JOIN ${table} s ON s.k = r.key)`;
    const from = `FROM (${dialect.withFacts(joined, factFields)}) p`;
    return tx.run(insertInto('row_store', values, from), parametersOf(batch, origin));
  });
  if (careful) await removeOlder(tx, batch.job, pending);
  if (await isWhole(tx, batch.job, pending)) return;
  const { job, slice, unitFiles } = batch;
  throw new CodedError(
    'staged-rows-missing',
    `Units of slice ${slice} of ${job} are missing from its unit files (${unitFiles.length}); nothing was loaded`,
  );
}

async function removeOlder(tx: Transaction, job: string, rows: UnitRows): Promise<void> {
  const { rowId: id } = tx.dialect;
  const here = `job = $1 AND unit_key IS NOT NULL AND ${numbersOf(tx, rows)}`;
  await tx.run(
    `DELETE FROM row_store WHERE ${here} AND ${id} IN (SELECT rid FROM (
       SELECT ${id} AS rid, row_number() OVER (PARTITION BY row_number ORDER BY fetched_at DESC NULLS LAST) AS turn FROM row_store WHERE ${here}) t
     WHERE turn > 1)`,
    [job],
  );
}

async function isWhole(tx: Transaction, job: string, { units, ...rows }: UnitRows): Promise<boolean> {
  const [found] = await tx.rows<Record<'rows' | 'numbers', unknown>>(
    `SELECT count(*) AS rows, count(DISTINCT row_number) AS numbers FROM row_store
     WHERE job = $1 AND unit_key IS NOT NULL AND ${numbersOf(tx, rows)}`,
    [job],
  );
  return Number(found?.rows) === units && Number(found?.numbers) === units;
}
