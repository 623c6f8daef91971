import { resolve } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../core/text/secret.js';
import { isPostgresUrl, type PostgresAddress, parseAddress, strictest, whyPlain } from '../../postgres/index.js';
import { DEAD_AFTER_MS } from '../../store/postgres/journal/presence.js';
import { STORE_SCHEMA } from '../../store/postgres/open-store.js';
import { WAREHOUSE_SCHEMA, warehouseAddress, warehouseIdentity, whyNoDatabase } from '../../warehouse/index.js';
import type { DatabaseAddress, RuntimeConfig } from './runtime-types.js';
import type { Found, SettingsReader } from './settings-reader.js';

/** Where many workers meet, and who they are there. */
export type StoreSetting = Required<Pick<RuntimeConfig, 'store' | 'team' | 'warehouse' | 'deadAfterMs'>>;

export function readStore(reader: SettingsReader, into: string | undefined, cwd: string): StoreSetting {
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
      'is the very schema of the warehouse; give one of the two another (?schema=name).',
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

/** Database and schema, written out. */
function schemaOf({ url }: DatabaseAddress, defaultSchema: string): string {
  const { shown, schema } = parseAddress(url.reveal(), defaultSchema);
  return JSON.stringify([shown.split('?', 1)[0], schema]);
}

/** What `--into` names, with the credentials of the environment where it has none of its own and they are for the same database. */
function readWarehouse(reader: SettingsReader, into: string | undefined, cwd: string): DatabaseAddress | null {
  const configured = readDatabase(reader, reader.variable('SEARCHFLOW_WAREHOUSE_URL'), databaseWarehouse);
  const flag = reader.flag(into, '--into');
  if (flag?.text.trim() === '')
    reader.wrong(flag, 'is no warehouse; give the path of a DuckDB file, or postgres://host/database.');
  if (flag === null || into === undefined) return configured;
  if (!isPostgresUrl(into)) {
    const why = into.trim() === '' ? null : unfit(resolve(cwd, into));
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
 * The warehouse that an input names, as jobs hold it: what it says, else the one of the settings, else `usual`. A database of the
 * settings is named with their parameters, so that other workers connect in the same way.
 */
export function warehouseOf(
  { warehouse }: { readonly warehouse?: DatabaseAddress | null },
  into: string | null | undefined,
  usual: string,
  cwd: string,
): string {
  const own = warehouse?.url.reveal();
  if (into === null || into === undefined) return warehouseAddress(own ?? usual, cwd);
  const asked = warehouseAddress(into, cwd);
  return own !== undefined && warehouse && isSameWarehouse(asked, warehouse.shown)
    ? warehouseAddress(strictest(own, asked), cwd)
    : asked;
}

/** Whether two addresses are of one warehouse, whatever the way to connect. What is no address is only itself. */
export function isSameWarehouse(one: string, other: string): boolean {
  try {
    return warehouseIdentity(one) === warehouseIdentity(other);
  } catch {
    return one === other;
  }
}

function unfit(file: string): string | null {
  try {
    return whyNoDatabase(file);
  } catch {
    // A file that can't be read is told by whoever opens it.
    return null;
  }
}

/** What `--into` means without its credentials: a path as it is, a database by its address. */
export function intoShown(into: string): string {
  if (!isPostgresUrl(into)) return into;
  try {
    return warehouseAddress(into);
  } catch {
    // What is wrong with it is told with the other mistakes of the configuration.
    return 'postgres://';
  }
}

/** The address of a store. Throws an `Error` that says what is wrong with it and does not quote it. */
export function storeAddress(url: string): DatabaseAddress {
  return databaseAddress(url, parseAddress(url, STORE_SCHEMA));
}

/** The same for a PostgreSQL warehouse. */
export function databaseWarehouse(url: string): DatabaseAddress {
  return databaseAddress(url, parseAddress(url, WAREHOUSE_SCHEMA));
}

function databaseAddress(url: string, address: PostgresAddress): DatabaseAddress {
  const why = whyPlain(address);
  if (why !== null) throw new Error(why);
  return { url: new Secret(url), shown: address.shown };
}

/** A mistake about an address never quotes it: it may hold a password. */
function readDatabase(
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
