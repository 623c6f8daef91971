import { hostname } from 'node:os';
import { z } from 'zod';
import {
  type PostgresAddress,
  parseAddress,
  STORE_SCHEMA,
  strictest,
  whyPlain,
} from '../../core/connections/postgres-address.js';
import { Secret } from '../../core/connections/secret.js';
import { DEAD_AFTER_MS } from '../../store/postgres/defaults.js';
import {
  WAREHOUSE_FORMS,
  WAREHOUSE_SCHEMA,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from '../../warehouse/addresses.js';
import { type DatabaseAddress, type RuntimeConfig, UsageError } from './runtime-types.js';
import type { Found, SettingsReader } from './settings-reader.js';
import { whyNoWarehouse } from './why-unwritable.js';

/** The settings that workers of a store share. */
export type StoreSetting = Required<Pick<RuntimeConfig, 'store' | 'team' | 'warehouse' | 'deadAfterMs'>>;

export function readStore(reader: SettingsReader, into: Found | null, cwd: string): StoreSetting {
  const team = reader.check(
    reader.variable('SEARCHFLOW_TEAM'),
    z.string().regex(/^[\w.-]{1,60}$/),
    'a name of at most 60 letters, digits, dots, dashes and underscores',
  );
  const seconds = reader.check(
    reader.variable('SEARCHFLOW_DEAD_AFTER_SECONDS'),
    z
      .string()
      .regex(/^\d{1,4}$/)
      .transform(Number)
      .pipe(z.number().min(2)),
    'a whole number of seconds from 2 to 9999',
  );
  const storeFound = reader.variable('SEARCHFLOW_STORE');
  const store = readDatabase(reader, storeFound, storeAddress);
  const warehouse = readWarehouse(reader, into, cwd);
  if (storeFound && store && warehouse && schemaOf(store, STORE_SCHEMA) === schemaOf(warehouse, WAREHOUSE_SCHEMA)) {
    reader.wrong(
      storeFound,
      'is the same schema as the warehouse. Give one of them another schema (?schema=name).',
      store.shown,
    );
  }
  return {
    store,
    warehouse,
    team,
    deadAfterMs: seconds === null ? DEAD_AFTER_MS : seconds * 1000,
  };
}

/** Identity of a database and schema. */
function schemaOf({ url }: DatabaseAddress, defaultSchema: string): string {
  const { shown, schema } = parseAddress(url.reveal(), defaultSchema);
  return JSON.stringify([shown.split('?', 1)[0], schema]);
}

/**
 * The warehouse of `--into`, else that of the environment. An address in `--into` without a user gets the credentials of the environment's
 * address if both name the same database.
 */
function readWarehouse(reader: SettingsReader, flag: Found | null, cwd: string): DatabaseAddress | null {
  const configured = readDatabase(reader, reader.variable('SEARCHFLOW_WAREHOUSE_URL'), databaseWarehouse);
  if (flag === null) return configured;
  const into = flag.text;
  if (into.trim() === '') reader.wrong(flag, `is not a warehouse; give ${WAREHOUSE_FORMS}.`);
  const mistyped = whyNoWarehouse(into);
  if (mistyped !== null) {
    reader.wrong(flag, `${mistyped}.`, 'the value (not shown)');
    return configured;
  }
  if (warehouseFile(into, cwd) !== null) {
    const why = into.trim() === '' ? null : whyUnusable(into, cwd);
    if (why !== null) reader.wrong(flag, `${why}.`);
    return configured;
  }
  return readDatabase(reader, flag, (url) => {
    const { shown, user } = parseAddress(url, WAREHOUSE_SCHEMA);
    const isOurs = configured !== null && shown === configured.shown && user === null;
    return databaseWarehouse(isOurs ? strictest(configured.url.reveal(), url) : url);
  });
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
export const hostOf = (into: string, shared: boolean): { readonly host?: string } =>
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

/** The address of a store. Throws an `Error` that says what is wrong without quoting the address. */
export function storeAddress(url: string): DatabaseAddress {
  return databaseAddress(url, parseAddress(url, STORE_SCHEMA));
}

/** The address of a PostgreSQL warehouse. Throws an `Error` that says what is wrong without quoting the address. */
export function databaseWarehouse(url: string): DatabaseAddress {
  return databaseAddress(url, parseAddress(url, WAREHOUSE_SCHEMA));
}

/** Throws an `Error` for an address whose connection would not be encrypted. */
export function databaseAddress(url: string, address: PostgresAddress): DatabaseAddress {
  const why = whyPlain(address);
  if (why !== null) throw new Error(why);
  return { url: new Secret(url), shown: address.shown };
}

/** Reads a database's address. Messages about mistakes never quote the address, because it may hold a password. */
export function readDatabase(
  reader: SettingsReader,
  found: Found | null,
  parse: (url: string) => DatabaseAddress,
): DatabaseAddress | null {
  if (found === null) return null;
  try {
    return parse(found.text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    reader.wrong(found, /[?.]$/.test(reason) ? reason : `${reason}.`, 'the value (not shown)');
    return null;
  }
}
