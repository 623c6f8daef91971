import { resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../../core/publish-request.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { EventTransaction } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import type { Transact } from '../monitors/batch-audit.js';
import type { MonitorDialect } from '../monitors/monitor-sql.js';
import { createMonitorStore } from '../monitors/monitor-store.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { inTransaction } from '../shared/in-transaction.js';
import { withoutHalves } from '../shared/mend-escapes.js';
import { createDuckDbRows } from './duckdb-rows.js';
import { duckDbDialect } from './event-dialect.js';
import { duckDbSql } from './sql-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { stagePages } from './stage-pages.js';
import { Warehouse, type WarehouseFile } from './warehouse.js';
import { whyNoDatabase } from './why-not-a-warehouse.js';

const absolute = (address: string, cwd: string) => resolve(cwd, address);

/** DuckDB files. A path has no form of its own, so each address that no other database claims is a path. */
export const duckDb: WarehouseDatabase = {
  form: 'the path of a DuckDB file',
  claims: () => true,
  addressOf: absolute,
  identityOf: absolute,
  fileOf: absolute,
  whyNoFile: whyNoDatabase,
  open(address, { say = () => undefined, credentialsFor, extensions, check }) {
    const options = { file: resolve(address), say, check };
    const rows = createDuckDbRows(options);
    const [events, monitors] = [createDuckDbEvents(options), createDuckDbMonitors(options)];
    // Loaded by the first publish, because few commands publish.
    const loaded = async () =>
      (await import('./duckdb-publisher.js')).duckDbPublisher(Warehouse.at(options.file, check), {
        ...{ say, credentialsFor, extensions },
      });
    const publisher: Publisher = {
      publish: async (request) => (await loaded()).publish(request),
      check: async (to) => (await loaded()).check(to),
    };
    const agentRuns = createDuckDbAgentRuns(options);
    return { rows, events, monitors, agentRuns, publisher, close: () => rows.close() };
  },
};

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

/** Returns the monitors of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process. */
function createDuckDbMonitors(options: WarehouseFile): MonitorWarehouse {
  return createMonitorStore(duckDbMonitors, ...partsOf(options));
}

/** Returns the agent runs of a DuckDB file; see `createDuckDbMonitors`. */
function createDuckDbAgentRuns(options: WarehouseFile): AgentRunStore {
  return createAgentRunStore(duckDbMonitors, ...partsOf(options));
}

function partsOf({ file, check }: WarehouseFile): readonly [transact: Transact, close: () => Promise<void>] {
  const warehouse = Warehouse.at(resolve(file), check);
  return [(work) => warehouse.transaction((connection) => work(sqlTransaction(connection))), () => warehouse.close()];
}

/** The statements for monitors in DuckDB's SQL. */
const duckDbMonitors: MonitorDialect = {
  ...duckDbSql,
  texts: (parameter) => `SELECT unnest(from_json(CAST(${parameter} AS JSON), '["VARCHAR"]'))`,
  plain: withoutHalves,
};
