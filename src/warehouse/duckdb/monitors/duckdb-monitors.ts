import { resolve } from 'node:path';
import type { MonitorWarehouse } from '../../../core/monitors/monitor-warehouse.js';
import { createMonitorStore } from '../../monitors/monitor-store.js';
import { duckDbMonitors } from '../dialect/monitor-dialect.js';
import { sqlTransaction } from '../driver/sql-transaction.js';
import { Warehouse } from '../open/warehouse.js';

/** Returns the monitors of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process. */
export function createDuckDbMonitors(options: { readonly file: string }): MonitorWarehouse {
  const warehouse = Warehouse.at(resolve(options.file));
  return createMonitorStore(
    duckDbMonitors,
    (work) => warehouse.transaction((connection) => work(sqlTransaction(connection))),
    () => warehouse.close(),
  );
}
