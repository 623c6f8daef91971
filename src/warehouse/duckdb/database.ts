import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import type { Database, Purpose, WarehousesOptions } from '../database.js';
import type { SourceDatabase } from '../export/job-rows.js';
import { unpurged } from '../rows/row-marks.js';
import { inTransaction } from '../shared/in-transaction.js';
import type { RelationColumn } from '../shared/relation.js';
import { duckDbDialect } from './dialect.js';
import { transactionOf } from './transaction.js';
import { type Needs, Warehouse, type WorkQueue } from './warehouse.js';

/**
 * The warehouse in a DuckDB file. Nothing is read or created before the first use. While another process has the file open, every method
 * rejects with `WarehouseBusy`.
 */
export function duckDbDatabase(address: string, { check }: WarehousesOptions): Database {
  const warehouse = Warehouse.at(resolve(address), check);
  const transaction: Database['transaction'] = (purpose, work) =>
    warehouse.use((connection) => inTransaction(connection, () => work(transactionOf(connection))), ...uses[purpose]);
  return {
    shown: warehouse.file,
    file: warehouse.file,
    dialect: duckDbDialect,
    exists: () => warehouse.exists(),
    make: async () => undefined,
    transaction,
    async purge() {
      const found = await transaction('read', (tx) => tx.rows(`SELECT 1 FROM row_marks WHERE ${unpurged} LIMIT 1`));
      if (found.length > 0)
        await warehouse.rewrite(`UPDATE row_marks SET before = ${duckDbDialect.now()} WHERE ${unpurged}`);
      return null;
    },
    source: sourceOf(warehouse),
    patiently,
    close: () => warehouse.close(),
  };
}

/** Memory in MB for lines of any size, which take some sixty times their bytes: half of what the machine or container has. */
const CAREFUL_MB = Math.floor(Math.min(totalmem(), process.constrainedMemory() || 2 ** 60, 16e9) / 2e6);

/** The queues of a transaction, and what it needs. The current state is updated on a second connection, and so on a second core. */
const uses: Readonly<Record<Purpose, readonly [queues: readonly WorkQueue[], needs?: Needs]>> = {
  read: [['reads'], { reads: true }],
  write: [['incoming', 'state']],
  careful: [['incoming', 'state'], { memory: CAREFUL_MB }],
  events: [['incoming']],
  fold: [['state']],
  all: [['incoming', 'state']],
};

/** Reads the file itself. All loads wait meanwhile. */
const sourceOf =
  (warehouse: Warehouse): SourceDatabase =>
  (_scratch, _manner, work) =>
    warehouse.use(
      (connection, grant) =>
        inTransaction(connection, () =>
          work({
            connection,
            need: grant,
            read: (one) => one(transactionOf(connection)),
            part: async (where, from, to) =>
              `SELECT * FROM row_store WHERE ${where} AND row_number BETWEEN ${from} AND ${to}`,
            table: async ({ name, columns }) => `SELECT ${columns.map(plainColumn).join(', ')} FROM ${name}`,
          }),
        ),
      undefined,
      { reads: true },
    );

/** JSON columns are text in files, because every reader supports text. */
const plainColumn = ({ name, type }: RelationColumn): string =>
  type === 'json' || type === 'parsed' ? `CAST(${name} AS VARCHAR) AS ${name}` : name;

/** Time in ms for which an export waits while another process, such as another export, has the file open. */
const FREE_MS = 10_000;
const POLL_MS = 200;

async function patiently<T>(work: () => Promise<T>): Promise<T> {
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

/** Waits for the work on a DuckDB file in this process, and keeps the file closed until the returned function is called. */
export const closedWarehouseFile = (file: string): Promise<() => void> => Warehouse.at(resolve(file)).keepClosed();
