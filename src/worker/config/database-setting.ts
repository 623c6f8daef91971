import {
  type PostgresAddress,
  parseAddress,
  rankOf,
  STORE_SCHEMA,
  sslModes,
  WAREHOUSE_SCHEMA,
  whyPlain,
  withTlsOf,
} from '../../core/connections/postgres-address.js';
import { Secret } from '../../core/connections/secret.js';

/** Address of a database. `shown` names host, port, database and schema; only `url` has user and password. */
export interface DatabaseAddress {
  readonly url: Secret;
  readonly shown: string;
}

/** A database with its schema by default. Throws an `Error` that follows the address, which it does not quote. */
const inSchema = (schema: string) => (url: string) => {
  const address = parseAddress(url, schema);
  const why = whyPlain(address);
  if (why !== null) throw new Error(why);
  return { url: new Secret(url), shown: address.shown };
};
export const storeAddress = inSchema(STORE_SCHEMA);
export const databaseWarehouse = inSchema(WAREHOUSE_SCHEMA);
export const databaseSource = inSchema('');

/**
 * The address of a source with the credentials of the configuration, which jobs do not contain: those of the source, or of the warehouse in
 * the same database. Without any, the driver uses `PGUSER`, `PGPASSWORD` and `.pgpass`.
 */
export function sourceUrl(
  { source, warehouse }: Readonly<Partial<Record<'source' | 'warehouse', DatabaseAddress | null>>>,
  input: string,
): string {
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

/** Whether an address names the database of a setting, in any schema. */
export function isSameDatabase(address: string, known: DatabaseAddress): boolean {
  const [one, other] = [parseAddress(address, ''), parseAddress(known.url.reveal(), '')];
  return serverOf(one) === serverOf(other) && one.database === other.database;
}

export function isSameSchema(store: DatabaseAddress, warehouse: DatabaseAddress): boolean {
  const one = parseAddress(store.url.reveal(), STORE_SCHEMA);
  const other = parseAddress(warehouse.url.reveal(), WAREHOUSE_SCHEMA);
  return isSameDatabase(store.url.reveal(), warehouse) && one.schema === other.schema;
}

/** A database server as settings, messages and entries name it: `host:port`, `[address]:port`, or `/folder:port` for a socket. */
export function serverOf({ host, port }: Pick<PostgresAddress, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function isSameServer(one: string, other: string): boolean {
  try {
    return serverOf(parseAddress(one, '')) === serverOf(parseAddress(other, ''));
  } catch {
    return false;
  }
}

/** Before the weakest `sslmode` of a server. */
export const SSLMODE = '?sslmode=';

/**
 * Parses a server of the setting `hosts`: a host, or host and port, with `?sslmode=` for the weakest `sslmode` that workflows may use
 * there. Throws an `Error` for any other text.
 */
export function parseServer(text: string): string {
  // A bucket that workflows may publish to.
  if (/^s3:\/\/[^/?#]+(\?(endpoint=[^&]+(&use_ssl=false)?|use_ssl=false))?$/.test(text)) return text;
  const [server = '', ...rest] = text.split(SSLMODE);
  const [least] = rest;
  if (rest.length > 1 || (least !== undefined && rankOf(least) < 0))
    throw new Error(`sslmode must be one of ${sslModes.join(', ')}`);
  const socket = /^(\/[^:]*)(?::(\d+))?$/.exec(server);
  const url = socket
    ? `postgres:///x?host=${encodeURIComponent(socket[1] as string)}${socket[2] ? `&port=${socket[2]}` : ''}`
    : `postgres://${server}/x`;
  const address = parseAddress(url, '');
  if (address.user !== null || address.password !== null || address.database !== 'x' || server.includes('?'))
    throw new Error('is not a host');
  return least === undefined ? serverOf(address) : `${serverOf(address)}${SSLMODE}${least}`;
}
