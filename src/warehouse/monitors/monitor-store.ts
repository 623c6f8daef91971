import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { createBatchAudit, type Transact } from './batch-audit.js';
import type { MonitorDialect } from './monitor-sql.js';
import { createMonitorRuns } from './run-store.js';

/** Returns the monitor warehouse in a database. All databases get the same statements, see `MonitorDialect`. */
export function createMonitorStore(
  dialect: MonitorDialect,
  transact: Transact,
  close: () => Promise<void>,
): MonitorWarehouse {
  return {
    audit: createBatchAudit(transact, dialect),
    runs: createMonitorRuns(transact, dialect),
    close,
  };
}
