import { join } from 'node:path';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';
import { createExports } from '../export/create-exports.js';
import { type JobRows, portionsOf } from '../export/job-rows.js';
import { unpurged } from '../rows/forget.js';
import { createFigures } from '../rows/row-figures.js';
import { createRowPlaces } from '../rows/row-places.js';
import type { Purpose, RowDatabase, RowTransaction } from '../rows/row-sql.js';
import { createRowStore, readJob, unknownJob } from '../rows/row-store.js';
import type { FileCheck } from '../shared/database.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { partOf } from './export-part.js';
import { postgresRowDialect } from './row-dialect.js';
import { rowTransaction } from './row-transaction.js';
import { Warehouse, type WarehouseOptions } from './warehouse.js';

/**
 * Returns a schema of a PostgreSQL database as a warehouse. `url`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. While the database is unavailable or locked, every method waits and then rejects with `WarehouseBusy`.
 * Throws `WarehouseUnusable` for a text that is not an address.
 */
export function createPostgresRows(
  options: WarehouseOptions & { readonly url: string; readonly check?: FileCheck | undefined },
  warehouse = new Warehouse(options.url, options),
): RowWarehouse {
  const { say = () => undefined } = options;
  const dialect = postgresRowDialect(`${warehouse.schema}.`);
  const transaction = <T>(purpose: Purpose, work: (tx: RowTransaction) => Promise<T>): Promise<T> =>
    warehouse[purpose === 'read' ? 'read' : 'transaction']((tx) => work(rowTransaction(tx, dialect)));
  const database: RowDatabase = {
    shown: warehouse.shown,
    dialect,
    exists: () => warehouse.exists(),
    make: () => warehouse.make(),
    transaction,
  };
  return {
    ...createRowStore(database, say),
    ...createRowPlaces(database),
    ...createFigures(database),
    async purgeForgotten() {
      if (!(await warehouse.exists())) return null;
      const problem = await warehouse.vacuum(['row_store', 'misfits', 'unknown_outcomes']);
      if (problem === null)
        await transaction('write', (tx) => tx.run(`UPDATE row_marks SET before = ${dialect.now()} WHERE ${unpurged}`));
      return problem;
    },
    ...createExports({
      file: null,
      say,
      checkTarget: options.check,
      check: async (job) => {
        if (!(await warehouse.exists())) throw unknownJob(job, warehouse.shown);
      },
      read: async (job, scratch, work) => {
        const record = await transaction('read', (tx) => readJob(tx, job, warehouse.shown));
        const part = partOf((bring) => warehouse.read(bring), record.where, join(scratch, 'source.jsonl'));
        const portions: JobRows['portions'] = (from, to) =>
          transaction('read', (tx) => portionsOf(tx, record.where, from, to));
        const rows = { ...record, part, portions };
        return withScratchDuckDb(join(scratch, 'spill'), (connection) =>
          work({ connection, rows, need: (megabytes) => setMemory(connection, megabytes) }),
        );
      },
    }),
    close: () => warehouse.close(),
  };
}
