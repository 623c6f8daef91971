import { join } from 'node:path';
import type { PgTransaction } from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import type { Database, Purpose, WarehousesOptions } from '../database.js';
import type { Dialect } from '../dialect.js';
import type { SourceDatabase } from '../export/job-rows.js';
import { unpurged } from '../rows/row-store.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { postgresDialect } from './dialect.js';
import { partOf, tableOf } from './export-part.js';
import { transactionOf } from './transaction.js';
import { Warehouse } from './warehouse.js';

/**
 * The warehouse in a schema of a PostgreSQL database. `address`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. Nothing is read or created before the first use. While the database is unavailable or locked, every
 * method waits and then rejects with `WarehouseBusy`. Throws `WarehouseUnusable` for a text that is not an address.
 */
export function postgresDatabase(address: string, options: WarehousesOptions): Database {
  const url = options.credentialsFor?.(postgresAddressOf(address).carried)?.reveal() ?? address;
  const warehouse = new Warehouse(url, options);
  const dialect = postgresDialect(`${warehouse.schema}.`);
  const transaction: Database['transaction'] = (purpose, work) =>
    warehouse[purpose === 'read' ? 'read' : 'transaction'](async (tx) => {
      for (const lock of locks[purpose])
        await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), ${lock}))`);
      return work(transactionOf(tx, dialect));
    });
  return {
    shown: warehouse.shown,
    file: null,
    dialect,
    exists: () => warehouse.exists(),
    make: () => warehouse.make(),
    transaction,
    async purge() {
      const problem = await warehouse.vacuum(['row_store', 'misfits', 'unknown_outcomes']);
      if (problem === null)
        await transaction('write', (tx) => tx.run(`UPDATE row_marks SET before = ${dialect.now()} WHERE ${unpurged}`));
      return problem;
    },
    source: sourceOf(warehouse, dialect),
    patiently: (work) => work(),
    close: () => warehouse.close(),
  };
}

/**
 * Numbers of two locks, which are always taken in this order. `LOADS`: one transaction at a time looks up ids and inserts events, because
 * two transactions at once would not see the ids of each other. `STATE`: one transaction at a time updates the current state.
 */
const [LOADS, STATE] = [4, 5];
const locks: Readonly<Record<Purpose, readonly number[]>> = {
  ...{ read: [], write: [], events: [LOADS], fold: [STATE], foldAll: [STATE], all: [LOADS, STATE] },
};

/** Copies rows into a scratch DuckDB, while loads continue. */
function sourceOf(warehouse: Warehouse, dialect: Dialect): SourceDatabase {
  return (scratch, manner, work) => {
    const lines = join(scratch, 'source.jsonl');
    const open = (read: <T>(work: (tx: PgTransaction) => Promise<T>) => Promise<T>) =>
      withScratchDuckDb(join(scratch, 'spill'), (connection) =>
        work({
          connection,
          need: (megabytes) => setMemory(connection, megabytes),
          read: (one) => read((tx) => one(transactionOf(tx, dialect))),
          part: (where, from, to) => read((tx) => partOf(tx, where, from, to, lines)),
          table: (table) => read((tx) => tableOf(tx, table, lines)),
        }),
      );
    if (manner === 'snapshot') return warehouse.read((tx) => open((one) => one(tx)), { snapshot: true });
    return open((one) => warehouse.read(one));
  };
}
