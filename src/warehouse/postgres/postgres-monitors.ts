import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { AgentRunStore } from '../../core/runs/agent-run-sync.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { Transact } from '../monitors/batch-audit.js';
import { createMonitorStore } from '../monitors/monitor-store.js';
import { postgresMonitors } from './dialect/monitor-dialect.js';
import { sqlTransaction } from './driver/sql-transaction.js';
import { Warehouse, type WarehouseOptions } from './warehouse.js';

/**
 * Returns the monitors of a schema of a PostgreSQL database. The same schema may hold the rows of jobs; see
 * `createPostgresRows`.
 */
export function createPostgresMonitors(
  options: WarehouseOptions & { readonly url: string },
  warehouse = new Warehouse(options.url, options),
): MonitorWarehouse {
  return createMonitorStore(postgresMonitors, ...partsOf(warehouse));
}

/** Returns the agent runs of a schema of a PostgreSQL database. */
export function createPostgresAgentRuns(warehouse: Warehouse): AgentRunStore {
  return createAgentRunStore(postgresMonitors, ...partsOf(warehouse));
}

function partsOf(warehouse: Warehouse): readonly [transact: Transact, close: () => Promise<void>] {
  return [(work) => warehouse.transaction((tx) => work(sqlTransaction(tx))), () => warehouse.close()];
}
