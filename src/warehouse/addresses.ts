import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import {
  isPostgresUrl,
  type PostgresAddress,
  parseAddress,
  WAREHOUSE_SCHEMA,
} from '../core/connections/postgres-address.js';
import { sinkOf } from '../core/rows/sink.js';
import { WarehouseUnusable } from '../core/rows/warehouse-errors.js';
import { fileKind } from '../files/file-kind.js';

export const POSTGRES_FORM = 'postgres://host:5432/database';

export const WAREHOUSE_FORMS = `the path of a DuckDB file, or ${POSTGRES_FORM}`;

/** Whether the form of an address names its database. Any other address is the path of a DuckDB file. */
export const hasDatabaseForm = isPostgresUrl;

/**
 * The parts of the address of a warehouse, or of a target in another schema. Throws `WarehouseUnusable` for a text that is not an address of a
 * PostgreSQL database.
 */
export function postgresAddressOf(url: string, what = 'warehouse', schema = WAREHOUSE_SCHEMA): PostgresAddress {
  try {
    return parseAddress(url, schema);
  } catch (error) {
    throw new WarehouseUnusable(
      'postgres-address-invalid',
      `The address of the ${what} ${error instanceof Error ? error.message : String(error)}`,
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

/** Endings of data files that are not DuckDB databases. */
const dataFiles = (
  'csv tsv psv tab txt json jsonl ndjson geojson parquet pq arrow feather avro orc xls xlsx xlsm ods numbers sqlite sqlite3 xml html ' +
  'htm pdf md yaml yml toml ini log sql gz gzip bz2 xz zst zip tar tgz 7z'
).split(' ');

/**
 * Returns why a file cannot be a DuckDB warehouse, such as `is a folder`; null if the file can. An existing file is judged by its contents,
 * a new file by its name. DuckDB itself opens some data files as if they were databases. Throws the system's error if the file cannot be
 * read.
 */
export function whyNoDatabase(file: string): string | null {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there === undefined) {
    const ending = extname(file).slice(1).toLowerCase();
    return dataFiles.includes(ending) ? `is named as a .${ending} file, not as a database; name it .duckdb` : null;
  }
  if (there.isDirectory()) return 'is a folder; name a file';
  if (!there.isFile()) return 'is not a regular file; name another one';
  const kind = fileKind(file);
  if (kind === 'DuckDB database') return null;
  return `is ${kind === null ? 'not a DuckDB database' : `a ${kind}, not a DuckDB database`}; name another file`;
}
