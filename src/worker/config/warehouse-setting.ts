import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { foreignScheme } from '../../core/connections/address-secrets.js';
import {
  isLibpqForm,
  isPostgresUrl,
  parseAddress,
  strictest,
  WAREHOUSE_SCHEMA,
} from '../../core/connections/postgres-address.js';
import { isDatabaseSource, whyNoSource } from '../../core/connections/source-address.js';
import { sinkOf } from '../../core/rows/sink.js';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { inFolder } from '../../files/open-path.js';
import { realPath } from '../../files/same-file.js';
import {
  hasDatabaseForm,
  POSTGRES_FORM,
  WAREHOUSE_FORMS,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from '../../warehouse/addresses.js';
import { nearestThere } from '../../warehouse/export/why-no-target.js';
import { type DatabaseAddress, databaseSource, databaseWarehouse, isSameDatabase } from './database-setting.js';
import { UsageError } from './runtime-types.js';
import { Wrong } from './setting.js';

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

/**
 * Why the file of a warehouse cannot be created or changed here; null for a server, and for a file that can be written. Leaves no files.
 */
export async function whyUnwritable(into: string): Promise<string | null> {
  const file = warehouseFile(into);
  if (file === null) return null;
  try {
    const why = whyNoWarehouseFile(into);
    if (why !== null) return `it ${why}`;
    if (existsSync(file)) accessSync(file, constants.W_OK);
    else {
      // Some file systems grant access and then refuse. A swapped link leads nowhere, because the folder is held open.
      const folder = realPath(nearestThere(dirname(file)));
      await inFolder(folder, async (held) => rmdir(await mkdtemp(join(held, '.searchflow-'))));
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Schemes that begin no file's name, beside those of other databases. */
const schemes = /^(postgres|postgresql|file|https?|s3|gs|gcs|az|abfss)$/;

/**
 * Why a text is a mistyped address and not a warehouse; null for a path, a sink and an address whose form names its database. The words
 * follow the name of the setting in a message. Without this check DuckDB would create a file of that name. Never quotes the text, which may
 * hold a password.
 */
export function whyNoWarehouse(into: string): string | null {
  if (sinkOf(into) !== null) return null;
  const text = into.replace(/^\s*(--?[\w-]+=)?['"\s]*|['"\s]+$/g, '');
  const drive = /^[a-z]:[\\/]/i.test(text) ? whyNoPath(text, process.platform) : null;
  if (drive !== null) return drive;
  const scheme = /^([a-z][a-z0-9+.-]+):(\/?)/i.exec(text);
  const name = scheme?.[1]?.toLowerCase() ?? '';
  // Matches an address whose colon is missing or is another character. No folder has such a name.
  if (/^postgres(ql)?[^\w.:/-]?:?\/\//i.test(text) && !isPostgresUrl(text))
    return `is not an address of PostgreSQL; write ${POSTGRES_FORM}`;
  if (isLibpqForm(text)) return `has libpq's form; write ${POSTGRES_FORM}`;
  if (foreignScheme(text) === '') return `has a user or a secret and no scheme; write ${POSTGRES_FORM}`;
  if (text === ':memory:') return `is a database in memory, which would be lost; give ${WAREHOUSE_FORMS}`;
  if (scheme === null || !(scheme[2] === '/' || foreignScheme(text) || schemes.test(name)))
    return whyNoPath(into, process.platform) === null ? null : `is not a warehouse; give ${WAREHOUSE_FORMS}`;
  if (text !== into) return 'has quotes, white space or the name of an option around it; remove them';
  if (hasDatabaseForm(text)) return null;
  return name.startsWith('postgres')
    ? `is not an address of PostgreSQL; write ${POSTGRES_FORM}`
    : `is not a warehouse: ${name}: is not supported; give ${WAREHOUSE_FORMS}`;
}
