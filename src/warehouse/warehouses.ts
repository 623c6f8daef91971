import { hasDatabaseForm, warehouseAddress } from './addresses.js';
import { openDuckDbWarehouse } from './duckdb/database.js';
import { openPostgresWarehouse } from './postgres/database.js';
import type { OpenedWarehouse, WarehousesOptions } from './shared/database.js';

/** The warehouses of a process, one object for each address. */
export interface Warehouses {
  /**
   * The warehouse at an address: the path of a DuckDB file, or `postgres://host:port/database?schema=name`. Throws `WarehouseUnusable`
   * for a text that is not an address.
   */
  open(address: string): OpenedWarehouse;
  /** Closes all warehouses after the waiting work. */
  close(): Promise<void>;
}

/** Opens one warehouse, see {@link Warehouses}. Nothing is read or created before the first use. */
export function openWarehouse(address: string, options: WarehousesOptions = {}): OpenedWarehouse {
  return (hasDatabaseForm(address) ? openPostgresWarehouse : openDuckDbWarehouse)(address, options);
}

export function createWarehouses(options: WarehousesOptions = {}): Warehouses {
  const opened = new Map<string, OpenedWarehouse>();
  return {
    open(address) {
      // Two addresses with different ways to connect to one database get two warehouses here. These two warehouses share no connection.
      const known = warehouseAddress(address);
      const warehouse = opened.get(known) ?? openWarehouse(address, options);
      opened.set(known, warehouse);
      return warehouse;
    },
    async close() {
      await Promise.all([...opened.values()].map((warehouse) => warehouse.close()));
    },
  };
}
