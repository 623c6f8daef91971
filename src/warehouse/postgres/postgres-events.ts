import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { PgTransaction } from '../../postgres/index.js';
import type { EventTransaction } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import { postgresDialect } from './dialect/event-dialect.js';
import { sqlTransaction } from './driver/sql-transaction.js';
import { stagePages } from './stage-pages.js';
import { Warehouse, type WarehouseOptions } from './warehouse.js';

interface PostgresEventTransaction extends EventTransaction {
  readonly tx: PgTransaction;
}

/**
 * Returns the webset events of a schema of a PostgreSQL database. The same schema may hold the rows of jobs. Throws
 * `WarehouseUnusable` for a text that is not an address.
 */
export function createPostgresEvents(
  url: string,
  options: WarehouseOptions = {},
  warehouse = new Warehouse(url, options),
): EventWarehouse {
  return createEventStore<PostgresEventTransaction>({
    dialect: postgresDialect(),
    exists: () => warehouse.exists(),
    transaction: (purpose, work) =>
      warehouse.transaction(async (tx) => {
        for (const lock of locks[purpose])
          await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), ${lock}))`);
        return work(transactionOn(tx));
      }),
    stage: ({ tx }, batch) => stagePages(tx, batch),
    close: () => warehouse.close(),
  });
}

/**
 * Numbers of two locks, which are always taken in this order. `LOADS`: one transaction at a time looks up ids and inserts events, because
 * two transactions at once would not see the ids of each other. `STATE`: one transaction at a time updates the current state.
 */
const [LOADS, STATE] = [4, 5];
const locks = { read: [], write: [LOADS], fold: [STATE], foldAll: [STATE], all: [LOADS, STATE] } as const;

function transactionOn(tx: PgTransaction): PostgresEventTransaction {
  const statements = sqlTransaction(tx);
  return {
    ...statements,
    tx,
    async runOnMany(sql, values) {
      // New tables have no statistics, so the planner would choose a nested loop over thousands of rows.
      await tx.query('SET LOCAL enable_nestloop = off');
      await statements.run(sql, values);
      await tx.query('SET LOCAL enable_nestloop = on');
    },
  };
}
