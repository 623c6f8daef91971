import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import { createExports } from '../export/create-exports.js';
import { type JobRows, portionsOf } from '../export/job-rows.js';
import { createFigures } from '../rows/row-figures.js';
import { createRowPlaces } from '../rows/row-places.js';
import type { RowDatabase, RowTransaction } from '../rows/row-sql.js';
import { createRowStore, readJob, unknownJob, unpurged } from '../rows/row-store.js';
import type { FileCheck } from '../shared/database.js';
import { loadRetryWholeOrInParts, loadWholeOrInParts, rowTransaction } from './load-parts.js';
import { duckDbRowDialect } from './row-dialect.js';
import { Warehouse } from './warehouse.js';

/** Time in ms for which an export waits while another process, such as another export, has the file open. */
const FREE_MS = 10_000;
const POLL_MS = 200;

/**
 * Returns a DuckDB file as a warehouse. While another process has the file open, every method rejects with `WarehouseBusy`. Call this
 * function once for each file and process: see `createWarehouses`.
 */
export function createDuckDbRows(options: {
  readonly file: string;
  /** Receives a sentence about each long operation. */
  readonly say?: (sentence: string) => void;
  readonly check?: FileCheck | undefined;
}): RowWarehouse {
  const warehouse = Warehouse.at(resolve(options.file), options.check);
  const say = options.say ?? (() => undefined);
  const database: RowDatabase = {
    shown: warehouse.file,
    dialect: duckDbRowDialect,
    exists: () => warehouse.exists(),
    // The first use creates the tables.
    make: async () => undefined,
    transaction: (purpose, work) =>
      warehouse.transaction((connection) => work(rowTransaction(connection)), { reads: purpose === 'read' }),
  };
  const check = async (job: string) => {
    if (!(await warehouse.exists())) throw unknownJob(job, warehouse.file);
  };
  const places = createRowPlaces(database);
  return {
    ...createRowStore(database, say),
    failedRows: (job, filter) => onceFree(() => places.failedRows(job, filter)),
    placeOf: (job, name) => onceFree(() => places.placeOf(job, name)),
    ...createFigures(database),
    async purgeForgotten() {
      if (!(await warehouse.exists())) return null;
      const finish = `UPDATE row_marks SET before = ${duckDbRowDialect.now()} WHERE ${unpurged}`;
      const found = await database.transaction('read', (tx) =>
        tx.rows(`SELECT 1 AS found FROM row_marks WHERE ${unpurged} LIMIT 1`),
      );
      if (found.length > 0) await warehouse.rewrite(finish);
      return null;
    },
    load: (batch, freshness) => loadWholeOrInParts(warehouse, batch, freshness),
    loadRetry: async (batch) => {
      await check(batch.job);
      return loadRetryWholeOrInParts(warehouse, batch);
    },
    ...createExports({
      file: warehouse.file,
      say,
      checkTarget: options.check,
      check: (job) => onceFree(() => check(job)),
      read: (job, _scratch, work) =>
        onceFree(async () => {
          await check(job);
          return warehouse.use(
            async (connection, grant) => {
              const tx = rowTransaction(connection);
              const record = await readJob(tx, job, warehouse.file);
              const rows = { ...record, ...duckDbParts(tx, record.where) };
              return work({ connection, rows, need: (memory) => grant({ memory }) });
            },
            undefined,
            { reads: true },
          );
        }),
    }),
    close: () => warehouse.close(),
  };
}

/** Waits for the work on a DuckDB file in this process, and keeps the file closed until the returned function is called. */
export const closedWarehouseFile = (file: string): Promise<() => void> => Warehouse.at(resolve(file)).keepClosed();

/** The parts of a job for its exports. `where`: condition on the rows. */
export const duckDbParts = (tx: RowTransaction, where: string): Pick<JobRows, 'part' | 'portions'> => ({
  part: async (from, to) => `SELECT * FROM row_store WHERE ${where} AND row_number BETWEEN ${from} AND ${to}`,
  portions: (from, to) => portionsOf(tx, where, from, to),
});

/** Runs work that begins with opening the file, and retries the work while another process has the file. */
export async function onceFree<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + FREE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || performance.now() > until) throw error;
      await delay(POLL_MS);
    }
  }
}
