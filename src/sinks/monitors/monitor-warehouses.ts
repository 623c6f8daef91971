import type { MonitorWarehouse } from '../../core/monitor-warehouse.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { createDuckDbMonitors } from '../duckdb/monitors/duckdb-monitors.js';
import { createPostgresMonitors } from '../postgres/monitors/postgres-monitors.js';
import { type SinksOptions, warehouseAddress } from '../sinks.js';

/** The warehouses for monitors of a process, one an address however often it is asked for; addresses as for `createSinks`. */
export interface MonitorWarehouses {
  open(address: string): MonitorWarehouse;
  close(): Promise<void>;
}

export function createMonitorWarehouses(options: SinksOptions = {}): MonitorWarehouses {
  const { credentialsFor, ...others } = options;
  const opened = new Map<string, MonitorWarehouse>();
  return {
    open(address) {
      const known = warehouseAddress(address);
      const warehouse =
        opened.get(known) ??
        (isPostgresUrl(address)
          ? createPostgresMonitors({ ...others, url: credentialsFor?.(known)?.reveal() ?? address })
          : createDuckDbMonitors({ file: known }));
      opened.set(known, warehouse);
      return warehouse;
    },
    async close() {
      await Promise.all([...opened.values()].map((one) => one.close()));
    },
  };
}
