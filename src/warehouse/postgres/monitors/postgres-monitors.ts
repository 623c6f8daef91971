import type { MonitorWarehouse } from '../../../core/monitors/monitor-warehouse.js';
import { createMonitorStore } from '../../monitors/monitor-store.js';
import { postgresMonitors } from '../dialect/monitor-dialect.js';
import { sqlTransaction } from '../driver/sql-transaction.js';
import { Warehouse, type WarehouseOptions } from '../open/warehouse.js';

/**
 * Returns the monitors of a schema of a PostgreSQL database. The same schema may hold the rows of jobs; see
 * `createPostgresRows`.
 */
export function createPostgresMonitors(
  options: WarehouseOptions & { readonly url: string },
  warehouse = new Warehouse(options.url, options),
): MonitorWarehouse {
  return createMonitorStore(
    postgresMonitors,
    (work) => warehouse.transaction((tx) => work(sqlTransaction(tx))),
    () => warehouse.close(),
  );
}
