import { duckDb } from './duckdb/database.js';
import { postgres } from './postgres/database.js';
import type { OpenedWarehouse, WarehouseDatabase, WarehousesOptions } from './shared/database.js';

/** Databases whose addresses have a form of their own, such as `postgres://…`. */
const withForm: readonly WarehouseDatabase[] = [postgres];

/** The database of an address. */
const databaseOf = (address: string): WarehouseDatabase =>
  withForm.find((database) => database.claims(address)) ?? duckDb;

/** The forms of an address, for messages. */
export const WAREHOUSE_FORMS = [duckDb, ...withForm].map(({ form }) => form).join(', or ');

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

/** Whether the form of an address names its database. Any other address is the path of a DuckDB file. */
export const hasDatabaseForm = (address: string): boolean => databaseOf(address) !== duckDb;

/**
 * The address of a warehouse as in jobs and histories: an absolute path, or a URL without user and password. The URL keeps
 * every parameter that another process needs to connect in the same way.
 */
export const warehouseAddress = (address: string, cwd = '.'): string => databaseOf(address).addressOf(address, cwd);

/** The identity of a warehouse, without the way to connect to the warehouse. Ids are made from this identity. */
export const warehouseIdentity = (address: string, cwd = '.'): string => databaseOf(address).identityOf(address, cwd);

/** The absolute path of the file that holds a warehouse; null for a warehouse on a server. */
export const warehouseFile = (address: string, cwd = '.'): string | null => databaseOf(address).fileOf(address, cwd);

/**
 * Why the file of a warehouse cannot be one, such as `is a folder`; null if the file can, and for a warehouse on a server. Throws the
 * system's error if the file cannot be read.
 */
export function whyNoWarehouseFile(address: string, cwd = '.'): string | null {
  const file = warehouseFile(address, cwd);
  return file === null ? null : databaseOf(address).whyNoFile(file);
}

/** Opens one warehouse, see {@link Warehouses}. Nothing is read or created before the first use. */
export function openWarehouse(address: string, options: WarehousesOptions = {}): OpenedWarehouse {
  return databaseOf(address).open(address, options);
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
