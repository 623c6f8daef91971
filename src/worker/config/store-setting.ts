import { hostname } from 'node:os';
import { parseAddress, strictest, WAREHOUSE_SCHEMA } from '../../core/connections/postgres-address.js';
import { isDatabaseSource, whyNoSource } from '../../core/connections/source-address.js';
import { sinkOf } from '../../core/rows/sink.js';
import {
  WAREHOUSE_FORMS,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from '../../warehouse/addresses.js';
import { type DatabaseAddress, databaseSource, databaseWarehouse, isSameDatabase } from './database-setting.js';
import { UsageError } from './runtime-types.js';
import { Wrong } from './setting.js';
import { whyNoWarehouse } from './why-unwritable.js';

/**
 * The warehouse of `--into`; a file is not a setting. An address without a user gets the credentials of the environment's address if both name
 * the same database. Throws an `Error` that follows the value.
 */
export function warehouseOfFlag(
  into: string,
  configured: DatabaseAddress | undefined,
  cwd: string,
): DatabaseAddress | undefined {
  if (into.trim() === '') throw new Error(`is not a warehouse; give ${WAREHOUSE_FORMS}`);
  const mistyped = sinkOf(into) === null ? whyNoWarehouse(into) : 'is a sink, which only a worker with it has';
  if (mistyped !== null) throw sinkOf(into) === null ? new Wrong(mistyped) : new Wrong(mistyped, into);
  if (warehouseFile(into, cwd) !== null) {
    const why = whyUnusable(into, cwd);
    if (why !== null) throw new Error(why);
    return undefined;
  }
  try {
    const { shown, user } = parseAddress(into, WAREHOUSE_SCHEMA);
    const isOurs = shown === configured?.shown && user === null;
    return databaseWarehouse(isOurs ? strictest(configured.url.reveal(), into) : into);
  } catch (error) {
    throw new Wrong((error as Error).message);
  }
}

/** The database of `--from`, with the same rule; undefined for a file. Throws an `Error` that follows the value. */
export function sourceOfFlag(from: string, configured: DatabaseAddress | undefined): DatabaseAddress | undefined {
  const mistyped = whyNoSource(from);
  if (mistyped !== null) throw new Wrong(mistyped);
  if (!isDatabaseSource(from)) return undefined;
  const isOurs = configured !== undefined && isSameDatabase(from, configured) && parseAddress(from, '').user === null;
  return isOurs ? configured : databaseSource(from);
}

/**
 * The warehouse of a job, without credentials: the warehouse that the input names, else the warehouse of the settings, else `usual`. A
 * database of the settings keeps its parameters, so that other workers connect in the same way. Throws `UsageError` for a mistyped address.
 */
export function warehouseOf(
  { warehouse }: { readonly warehouse?: DatabaseAddress | null },
  into: string | null | undefined,
  usual: string,
  cwd: string,
): string {
  const own = warehouse?.url.reveal();
  if (into === null || into === undefined) return warehouseAddress(own ?? usual, cwd);
  const mistyped = whyNoWarehouse(into);
  if (mistyped !== null) throw new UsageError('invalid-argument', `--into: the value (not shown) ${mistyped}.`);
  const asked = warehouseAddress(into, cwd);
  return own !== undefined && warehouse && isSameWarehouse(asked, warehouse.shown)
    ? warehouseAddress(strictest(own, asked), cwd)
    : asked;
}

/** Whether two addresses name the same warehouse, regardless of connection parameters. Invalid addresses are compared as texts. */
export function isSameWarehouse(one: string, other: string): boolean {
  try {
    return warehouseIdentity(one) === warehouseIdentity(other);
  } catch {
    return one === other;
  }
}

function whyUnusable(into: string, cwd: string): string | null {
  try {
    return whyNoWarehouseFile(into, cwd);
  } catch {
    // The problem is reported when the file is opened.
    return null;
  }
}

/** The field `host` of work into a warehouse: only this machine has the file of a warehouse, and other machines may share the store. */
export const hostField = (into: string, shared: boolean): { readonly host?: string } =>
  shared && warehouseFile(into) !== null ? { host: hostname() } : {};

/** The value of `--into` without credentials: a path as it is, a database by its address. */
export function intoShown(into: string): string {
  if (warehouseFile(into) !== null) return into;
  try {
    return warehouseAddress(into);
  } catch {
    // The mistake is reported when the configuration is read.
    return 'postgres://';
  }
}
