import { resolve } from 'node:path';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { AgentRunStore } from '../../core/runs/agent-run-sync.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { Transact } from '../monitors/batch-audit.js';
import { createMonitorStore } from '../monitors/monitor-store.js';
import { duckDbMonitors } from './dialect/monitor-dialect.js';
import { sqlTransaction } from './driver/sql-transaction.js';
import { Warehouse, type WarehouseFile } from './warehouse.js';

/** Returns the monitors of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process. */
export function createDuckDbMonitors(options: WarehouseFile): MonitorWarehouse {
  return createMonitorStore(duckDbMonitors, ...partsOf(options));
}

/** Returns the agent runs of a DuckDB file; see `createDuckDbMonitors`. */
export function createDuckDbAgentRuns(options: WarehouseFile): AgentRunStore {
  return createAgentRunStore(duckDbMonitors, ...partsOf(options));
}

function partsOf({ file, check }: WarehouseFile): readonly [transact: Transact, close: () => Promise<void>] {
  const warehouse = Warehouse.at(resolve(file), check);
  return [(work) => warehouse.transaction((connection) => work(sqlTransaction(connection))), () => warehouse.close()];
}
