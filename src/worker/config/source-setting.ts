import { parseAddress, withTlsOf } from '../../core/connections/postgres-address.js';
import { isDatabaseSource, whyNoSource } from '../../core/connections/source-address.js';
import { isSameServer } from './allowlist.js';
import type { DatabaseAddress, RuntimeConfig } from './runtime-types.js';
import type { SettingsReader } from './settings-reader.js';
import { databaseAddress, readDatabase } from './store-setting.js';

/** The address of a source. Throws an `Error` that says what is wrong without quoting the address. */
export function databaseSource(url: string): DatabaseAddress {
  return databaseAddress(url, parseAddress(url, ''));
}

/**
 * The source of the command line, else that of the environment. An address of the command line without a user gets the credentials of the
 * environment's address if both name the same database.
 */
export function readSource(reader: SettingsReader, from: string | undefined): DatabaseAddress | null {
  const configured = readDatabase(reader, reader.variable('SEARCHFLOW_SOURCE_URL'), databaseSource);
  const flag = reader.flag(from, '--from');
  if (flag === null || from === undefined) return configured;
  const mistyped = whyNoSource(from);
  if (mistyped !== null) reader.wrong(flag, `${mistyped}.`, 'the value (not shown)');
  if (mistyped !== null || !isDatabaseSource(from)) return configured;
  const isOurs = configured !== null && isSameDatabase(from, configured) && parseAddress(from, '').user === null;
  return isOurs ? configured : databaseSource(from);
}

/**
 * The address of a source with the credentials of the configuration, which jobs do not contain: those of the source, or of the warehouse in
 * the same database. Without any, the driver uses `PGUSER`, `PGPASSWORD` and `.pgpass`.
 */
export function sourceUrl({ source, warehouse }: Pick<RuntimeConfig, 'source' | 'warehouse'>, input: string): string {
  // A source of the command line may have no user.
  const same = [source, warehouse].flatMap((one) => (one && isSameDatabase(input, one) ? [one] : []));
  const known = same.find((one) => parseAddress(one.url.reveal(), '').user !== null) ?? same[0];
  if (!known)
    return [source, warehouse].reduce((url, one) => {
      const own = one?.url.reveal();
      // A connection to another database of the same server uses the same certificates, and encryption that is not weaker.
      return own !== undefined && isSameServer(url, own) ? withTlsOf(url, own) : url;
    }, input);
  const own = known.url.reveal();
  const { user, password } = parseAddress(own, '');
  // The address of the job keeps its schema and its time limit. Certificates come from the configuration only.
  const url = new URL(withTlsOf(input, own));
  if (user !== null) url.searchParams.set('user', user);
  if (password !== null) url.searchParams.set('password', password.reveal());
  return url.href;
}

function isSameDatabase(address: string, known: DatabaseAddress): boolean {
  const [one, other] = [parseAddress(address, ''), parseAddress(known.url.reveal(), '')];
  return one.host === other.host && one.port === other.port && one.database === other.database;
}
