import { resolve } from 'node:path';
import type { Secret } from '../core/connections/secret.js';
import type { EventWarehouse } from '../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../core/monitors/monitor-warehouse.js';
import type { RowWarehouse } from '../core/rows/row-warehouse.js';
import { isPostgresUrl } from '../postgres/index.js';
import { createDuckDbEvents } from './duckdb/events/duckdb-events.js';
import { createDuckDbMonitors } from './duckdb/monitors/duckdb-monitors.js';
import { createDuckDbRows } from './duckdb/rows/duckdb-rows.js';
import { createPostgresEvents } from './postgres/events/postgres-events.js';
import { createPostgresMonitors } from './postgres/monitors/postgres-monitors.js';
import { addressOf, Warehouse as PostgresWarehouse } from './postgres/open/warehouse.js';
import { createPostgresRows } from './postgres/rows/postgres-rows.js';

/** The three stores of one address. The stores share one DuckDB instance or one pool of connections. */
export interface OpenedWarehouse {
  readonly rows: RowWarehouse;
  readonly events: EventWarehouse;
  readonly monitors: MonitorWarehouse;
  /** Closes the warehouse after the waiting work. A later use opens the warehouse again. */
  close(): Promise<void>;
}

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

export interface WarehousesOptions {
  /** Receives a sentence about each long operation. */
  readonly say?: (sentence: string) => void;
  /**
   * Returns the whole URL, with user and password, of the warehouse at this address. If the function returns null, the driver reads
   * `PGUSER`, `PGPASSWORD` and `.pgpass`. Jobs and histories hold only addresses without credentials.
   */
  readonly credentialsFor?: (address: string) => Secret | null;
}

/**
 * The address of a warehouse as in jobs and histories: an absolute path, or a URL without user and password. The URL keeps
 * every parameter that another process needs to connect in the same way.
 */
export function warehouseAddress(address: string, cwd = '.'): string {
  return isPostgresUrl(address) ? addressOf(address).carried : resolve(cwd, address);
}

/** The identity of a warehouse, without the way to connect to the warehouse. Ids are made from this identity. */
export function warehouseIdentity(address: string, cwd = '.'): string {
  return isPostgresUrl(address) ? addressOf(address).shown : resolve(cwd, address);
}

/** Opens one warehouse, see {@link Warehouses}. Nothing is read or created before the first use. */
export function openWarehouse(address: string, { credentialsFor, say }: WarehousesOptions = {}): OpenedWarehouse {
  const known = warehouseAddress(address);
  const telling = say ? { say } : {};
  if (!isPostgresUrl(address)) {
    const options = { file: known, ...telling };
    const rows = createDuckDbRows(options);
    const [events, monitors] = [createDuckDbEvents(options), createDuckDbMonitors(options)];
    return { rows, events, monitors, close: () => rows.close() };
  }
  const url = credentialsFor?.(known)?.reveal() ?? address;
  const warehouse = new PostgresWarehouse(url, telling);
  return {
    rows: createPostgresRows({ url, ...telling }, warehouse),
    events: createPostgresEvents(url, telling, warehouse),
    monitors: createPostgresMonitors({ url, ...telling }, warehouse),
    close: () => warehouse.close(),
  };
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
