import type { Freshness } from '../../../core/purchase/freshness.js';
import type { LoadBatch } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { checkGeneration } from '../../shared/ledger.js';
import { copyLines, makeLineTables } from '../driver/copy-lines.js';
import { lockSlice } from '../driver/locks.js';
import { insertRows } from './insert-rows.js';
import { makePending } from './pending.js';

/** Loads one slice in the caller's transaction: rows and ledger line, or neither. */
export async function loadSlice(
  tx: PgTransaction,
  batch: LoadBatch,
  freshness: Freshness | undefined,
): Promise<{ readonly rows: number; readonly already: boolean }> {
  await lockSlice(tx, batch.job, batch.slice);
  const { origin, loaded } = await loadedBefore(tx, batch);
  if (loaded !== null) return { rows: loaded, already: true };
  await makeLineTables(tx);
  await copyLines(tx, 'row_lines', batch.rowsFile);
  const rows = (await asItIs(tx, batch, origin)) ?? (await withCare(tx, batch, origin, freshness));
  return { rows, already: false };
}

/**
 * Returns the state of the slice in the warehouse. Refuses an attempt of another generation, because its row numbers now belong to other
 * rows.
 */
async function loadedBefore(
  tx: PgTransaction,
  { job, generation, slice }: LoadBatch,
): Promise<{ readonly origin: string; readonly loaded: number | null }> {
  const [current] = await tx.query<{ generation: string; origin: string; loaded: string | null }>(
    `SELECT generation, origin, (SELECT rows FROM load_ledger WHERE job = $1 AND generation = $2 AND slice = $3) AS loaded
     FROM searchflow_jobs WHERE job = $1`,
    [job, generation, slice],
  );
  if (current?.loaded != null) return { origin: current.origin, loaded: Number(current.loaded) };
  checkGeneration(job, generation, current?.generation);
  return { origin: (current as NonNullable<typeof current>).origin, loaded: null };
}

/** Inserts the lines as they are. If the insert fails, changes nothing and returns null. */
async function asItIs(tx: PgTransaction, batch: LoadBatch, origin: string): Promise<number | null> {
  await tx.query('SAVEPOINT units');
  try {
    for (const file of batch.unitFiles) await copyLines(tx, 'unit_lines', file);
    const rows = await insertRows(tx, batch, origin, 'plain');
    if (rows !== null) return rows;
  } catch (error) {
    // The defect (SQLSTATE class 22) may be in a line that this slice does not need, so the slower way tries again.
    if (!/^22/.test(String((error as { code?: unknown }).code))) throw error;
  }
  await tx.query('ROLLBACK TO SAVEPOINT units');
  return null;
}

/** Loads a slice that replaces other rows, or whose unit files are unusual: a unit has two lines, or a line is not JSON. */
async function withCare(
  tx: PgTransaction,
  batch: LoadBatch,
  origin: string,
  freshness: Freshness | undefined,
): Promise<number> {
  await makePending(tx, batch.job, freshness);
  for (const file of batch.unitFiles) await copyLines(tx, 'unit_lines', file, true);
  await tx.query('DELETE FROM row_store WHERE job = $1 AND row_number IN (SELECT n FROM pending)', [batch.job]);
  const rows = await insertRows(tx, batch, origin, 'chosen');
  if (rows !== null) return rows;
  throw new Error(
    `Units of slice ${batch.slice} of ${batch.job} are missing from its unit files (${batch.unitFiles.length}); nothing was loaded`,
  );
}
