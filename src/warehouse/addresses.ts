import { resolve } from 'node:path';
import {
  isPostgresUrl,
  type PostgresAddress,
  parseAddress,
  WAREHOUSE_SCHEMA,
} from '../core/connections/postgres-address.js';
import { sinkOf } from '../core/rows/sink.js';
import { WarehouseUnusable } from '../core/rows/warehouse-errors.js';
import { whyNoDatabase } from './duckdb/why-not-a-warehouse.js';

/** The form of an address of PostgreSQL, for messages. */
export const POSTGRES_FORM = 'postgres://host:5432/database';

/** The forms of an address, for messages. */
export const WAREHOUSE_FORMS = `the path of a DuckDB file, or ${POSTGRES_FORM}`;

/** Whether the form of an address names its database. Any other address is the path of a DuckDB file. */
export const hasDatabaseForm = isPostgresUrl;

/** The parts of a warehouse's address. Throws `WarehouseUnusable` for a text that is not an address of a PostgreSQL database. */
export function postgresAddressOf(url: string): PostgresAddress {
  try {
    return parseAddress(url, WAREHOUSE_SCHEMA);
  } catch (error) {
    throw new WarehouseUnusable(
      'postgres-address-invalid',
      `The address of the warehouse ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * The address of a warehouse as in jobs and histories: an absolute path, or a URL without user and password. The URL keeps every parameter
 * that another process needs to connect in the same way.
 */
export const warehouseAddress = (address: string, cwd = '.'): string =>
  hasDatabaseForm(address) ? postgresAddressOf(address).carried : pathOf(address, cwd);

/** The identity of a warehouse, without the way to connect to the warehouse. Ids are made from this identity. */
export const warehouseIdentity = (address: string, cwd = '.'): string =>
  hasDatabaseForm(address) ? postgresAddressOf(address).shown : pathOf(address, cwd);

/** The absolute path of a file; a sink has its name. */
const pathOf = (address: string, cwd: string): string => (sinkOf(address) === null ? resolve(cwd, address) : address);

/** The absolute path of the file that holds a warehouse; null for a warehouse on a server, and for a sink. */
export const warehouseFile = (address: string, cwd = '.'): string | null =>
  hasDatabaseForm(address) || sinkOf(address) !== null ? null : resolve(cwd, address);

/**
 * Why the file of a warehouse cannot be one, such as `is a folder`; null if the file can, and for a warehouse on a server. Throws the
 * system's error if the file cannot be read.
 */
export function whyNoWarehouseFile(address: string, cwd = '.'): string | null {
  const file = warehouseFile(address, cwd);
  return file === null ? null : whyNoDatabase(file);
}
