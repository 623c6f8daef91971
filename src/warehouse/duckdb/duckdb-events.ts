import { resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { EventTransaction } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import { inTransaction } from '../shared/in-transaction.js';
import { duckDbDialect } from './dialect/event-dialect.js';
import { sqlTransaction } from './driver/sql-transaction.js';
import { stagePages } from './stage-pages.js';
import { Warehouse, type WarehouseFile } from './warehouse.js';

/**
 * Returns the webset events of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process.
 */
export function createDuckDbEvents(options: WarehouseFile): EventWarehouse {
  const warehouse = Warehouse.at(resolve(options.file), options.check);
  return createEventStore({
    dialect: duckDbDialect,
    exists: async () => warehouse.exists(),
    transaction: (purpose, work) => {
      const inOne = (connection: DuckDBConnection) => inTransaction(connection, () => work(transactionOn(connection)));
      if (purpose === 'all') return warehouse.use(inOne);
      return warehouse.use(inOne, queues[purpose], purpose === 'foldAll' ? { threads: 2 } : {});
    },
    stage: (_tx, batch) => stagePages(batch),
    close: () => warehouse.close(),
  });
}

/**
 * During loads the current state is updated on a second connection, and so on a second core. After the last load the state is updated on
 * both cores, because no load uses the other core then.
 */
const queues = { read: ['incoming'], write: ['incoming'], fold: ['state'], foldAll: ['state'] } as const;

function transactionOn(connection: DuckDBConnection): EventTransaction {
  const tx = sqlTransaction(connection);
  return { ...tx, runOnMany: tx.run };
}
