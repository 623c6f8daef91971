import { nearest } from '../text/nearest.js';
import { addressSecrets, decoded, foreignScheme, misspeltSecrets } from './address-secrets.js';
import { isLoopback } from './loopback.js';
import { isMetadata } from './metadata-address.js';
import { Secret } from './secret.js';

/** Schemas of a store and of a warehouse whose addresses name no schema. */
export const STORE_SCHEMA = 'searchflow_store';
export const WAREHOUSE_SCHEMA = 'searchflow';

export interface PostgresAddress {
  /** A name or IP address without brackets, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly schema: string;
  readonly user: string | null;
  readonly password: Secret | null;
  /** Parameters of the driver, such as `sslmode`; none of them is a secret. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Host, port, database and schema: the identity of the warehouse, safe to print, store and compare. */
  readonly shown: string;
  /** An address to connect to: `shown` with the parameters, without user and password. */
  readonly carried: string;
}

/**
 * Modes of encryption, from the weakest to the strictest, as in libpq. `require` encrypts and verifies nothing; with `sslrootcert`,
 * `require` has the meaning of `verify-ca`. `verify-ca` verifies the authority; `verify-full` also verifies the host name.
 */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'] as const;
/**
 * Parameters that are not passed to the driver. `uselibpqcompat=true` is accepted and changes nothing: `sslmode` always has libpq's meaning
 * here.
 */
const ownParameters = ['schema', 'host', 'port', 'user', 'password', 'uselibpqcompat'];
const driverParameters = [
  ...tlsParameters,
  ...['application_name', 'options', 'connect_timeout', 'client_encoding'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
];
const milliseconds = /_timeout$/;

/**
 * Whether a text names a database as `host=name password=word`. DuckDB would create a file with this text as its name, including the
 * password.
 */
export function isLibpqForm(text: string): boolean {
  return /(^|\s)(host|hostaddr|port|user|password|dbname|passfile)\s*=\s*\S/i.test(text);
}

/** Whether a text is an address without a scheme. A file or folder with this name would show its password. */
export const isBareAddress = (text: string): boolean => isLibpqForm(text) || misspeltSecrets(text).length > 0;

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Parses `postgres://user:password@host:port/database?schema=name&sslmode=verify-full`. Throws an `Error` that quotes no value of the
 * address, which may hold a password.
 */
export function parseAddress(url: string, defaultSchema: string): PostgresAddress {
  if (!isPostgresUrl(url) || !URL.canParse(url) || new URL(url).hash !== '')
    throw new Error('is not an address such as postgres://host:5432/database');
  const address = new URL(url);
  const query = new Map(address.searchParams);
  if (query.size !== [...address.searchParams].length) throw new Error('gives a parameter twice');
  const once = (name: string, inFront: string): string | null => {
    if (inFront !== '' && query.has(name)) throw new Error(`names its ${name} twice`);
    return (inFront === '' ? query.get(name) : decoded(inFront)) || null;
  };
  const host = checkedHost(once('host', address.hostname) ?? 'localhost');
  if (isMetadata(host)) throw new Error('names a metadata address, to which nothing connects');
  const port = Number(once('port', address.port) ?? '5432');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('has an invalid port');
  const schema = query.get('schema') || defaultSchema;
  if (schema.length > 63 || schema.includes('\0') || schema.startsWith('pg_'))
    throw new Error('names a schema that PostgreSQL does not allow');
  // Our SQL functions are quoted with `$body$`, which the name of a schema would end.
  if (schema.includes('$body$')) throw new Error('names a schema that contains $body$');
  const database = decoded(address.pathname.slice(1));
  if (database === '') throw new Error('names no database (postgres://host:5432/database)');
  const user = once('user', address.username);
  const password = once('password', address.password);
  const parameters = parametersOf(query);
  const target = `postgres://${shownHost(host)}:${port}/${encodeURIComponent(database)}`;
  const own = schema === defaultSchema ? [] : [`schema=${encodeURIComponent(schema)}`];
  const others = Object.entries(parameters).map(
    ([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2F', '/')}`,
  );
  const withQuery = (parts: readonly string[]) => (parts.length === 0 ? target : `${target}?${parts.join('&')}`);
  return {
    ...{ host, port, database, schema, user, parameters },
    password: password === null ? null : new Secret(password),
    shown: withQuery(own),
    carried: withQuery([...own, ...others]),
  };
}

/** The driver's parameters in a fixed order. Throws for a parameter without effect. */
function parametersOf(query: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  for (const name of query.keys()) {
    if (ownParameters.includes(name) || driverParameters.includes(name)) continue;
    const meant = name === 'ssl' ? 'sslmode' : nearest(name, [...ownParameters, ...driverParameters]);
    // A password that contains `?` or `&` may be parsed as the name of a parameter. So a name is shown only if it is close to a known name.
    const shown = meant === null ? 'an unknown parameter' : `the unknown parameter ${name}`;
    throw new Error(
      `has ${shown}; ${meant === null ? `known are ${driverParameters.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }
  if ((query.get('uselibpqcompat') ?? 'true') !== 'true')
    throw new Error('has uselibpqcompat, but sslmode always has the meaning of libpq here; leave it out');
  const parameters: Record<string, string> = {};
  for (const name of driverParameters) {
    const value = query.get(name);
    if (value === undefined || value === '') continue;
    if (milliseconds.test(name) && !/^\d{1,9}$/.test(value))
      throw new Error(`has a ${name} that is not a whole number`);
    parameters[name] = value;
  }
  checkTls(parameters);
  return parameters;
}

function checkTls({ sslmode, sslrootcert, sslcert, sslkey, sslnegotiation }: Readonly<Record<string, string>>): void {
  const choice = `use ${sslModes.join(', ')}`;
  if (sslmode === 'allow' || sslmode === 'prefer')
    throw new Error(`has sslmode=${sslmode}, which allows an unencrypted connection; ${choice}`);
  if (sslmode !== undefined && rankOf(sslmode) < 0) throw new Error(`has an unknown sslmode; ${choice}`);
  if (sslmode === 'verify-ca' && sslrootcert === undefined)
    throw new Error('has sslmode=verify-ca without sslrootcert; add that file, or use verify-full');
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    throw new Error(
      'has sslrootcert=system, which requires sslmode=verify-full, because public authorities issue certificates to anyone',
    );
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new Error('has only one of sslcert and sslkey; use both');
  if (sslnegotiation !== undefined && !['postgres', 'direct'].includes(sslnegotiation))
    throw new Error('has an sslnegotiation that is neither postgres nor direct');
  const plain = sslmode === undefined || sslmode === 'disable';
  if (plain && (sslrootcert ?? sslcert ?? (sslnegotiation === 'direct' ? sslnegotiation : undefined)) !== undefined)
    throw new Error('has TLS parameters but no sslmode that encrypts; add sslmode=verify-full');
}

/** The position of a mode in {@link sslModes}, from the weakest; -1 for an unknown mode. */
export function rankOf(sslmode: string | undefined | null): number {
  return (sslModes as readonly (string | undefined | null)[]).indexOf(sslmode);
}

/** Whether a connection leaves this machine: loopback and sockets need no encryption. */
export function isRemote({ host }: Pick<PostgresAddress, 'host'>): boolean {
  return !host.startsWith('/') && !isLoopback(host);
}

/**
 * Returns why a connection must not be opened, as text after the name of the database; null if the connection may be opened. A password and
 * rows cross a network unencrypted only if the address says `sslmode=disable`.
 */
export function whyPlain(address: PostgresAddress): string | null {
  if (address.parameters.sslmode !== undefined || !isRemote(address)) return null;
  return 'is on another host and its address has no sslmode; add sslmode=verify-full, or sslmode=disable for plain text';
}

/**
 * Returns the worker's own address of a database that a job names. The `sslmode` of the returned address is the stricter of the two modes,
 * so that a job cannot weaken the encryption. Certificates come only from the worker's address: with an authority of its own, a job could
 * redirect the password to another server.
 */
export function strictest(own: string, other: string): string {
  const [owner, asked] = [new URL(own), new URL(other)];
  const [strict, mode] = [levelOf(owner.searchParams), levelOf(asked.searchParams)];
  if (mode <= strict) return own;
  // If the worker's address has no `sslrootcert`, only public authorities can verify the server. Public authorities issue certificates to
  // anyone, so the host name is verified, too.
  const isVerified = mode >= rankOf('verify-ca') && !owner.searchParams.has('sslrootcert');
  owner.searchParams.set('sslmode', isVerified ? 'verify-full' : (sslModes[mode] as string));
  return owner.href;
}

/**
 * Returns a job's address with the certificates of the worker's own address on the same server. `sslmode` is the stricter of the two
 * modes.
 */
export function withTlsOf(address: string, own: string): string {
  const [asked, owner] = [new URL(address), new URL(own)];
  const level = levelOf(asked.searchParams);
  for (const name of tlsParameters) {
    asked.searchParams.delete(name);
    const value = owner.searchParams.get(name);
    if (value !== null) asked.searchParams.set(name, value);
  }
  // The job's `sslmode` counts only if it demands encryption.
  return level > 0 ? strictest(asked.href, `postgres://x/x?sslmode=${sslModes[level]}`) : asked.href;
}

/** Position of the mode of an address in {@link sslModes}. `require` with `sslrootcert` counts as `verify-ca`, as in libpq. */
function levelOf(parameters: URLSearchParams): number {
  const rank = rankOf(parameters.get('sslmode'));
  return rank === rankOf('require') && parameters.has('sslrootcert') ? rankOf('verify-ca') : rank;
}

/** Fields of a workflow's input that hold an address or the path of a file. */
const addressFields = ['into', 'origin', 'input', 'csv', 'secretFile'];
/** Fields that hold another object with address fields: the input of a scheduled workflow, or a staged job. */
const inputFields = ['input', 'staged'];

/**
 * Returns the problem of an address in a workflow's input, without quoting the address; null if all addresses are valid. Inputs are kept
 * in histories, tables, results and messages, so an input must hold no password.
 */
export function addressProblem(input: unknown): string | null {
  if (typeof input !== 'object' || input === null) return null;
  const fields = new Map<string, unknown>(Object.entries(input));
  for (const name of addressFields) {
    const value = fields.get(name);
    const problem = typeof value === 'string' ? problemOf(value) : null;
    if (problem !== null) return `${name}: the address ${problem}`;
  }
  for (const name of inputFields) {
    const problem = addressProblem(fields.get(name));
    if (problem !== null) return `${name}.${problem}`;
  }
  return null;
}

function problemOf(address: string): string | null {
  if (!isPostgresUrl(address)) {
    if (isLibpqForm(address)) return "has libpq's form; write postgres://host:5432/database";
    const url = /^[a-z][a-z0-9+.-]+:\/\//i.test(address) && URL.canParse(address) ? new URL(address) : null;
    const isForeign = foreignScheme(address) !== null && addressSecrets(address).length > 0;
    return url?.username || url?.password || isForeign ? 'holds a user or password; remove them' : null;
  }
  try {
    const { user, password } = parseAddress(address, '');
    if (user === null && password === null) return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return (
    'holds a user or password, which the history of this workflow now keeps. Change the password, pass the address without both, and ' +
    "set them in the worker (the plugin's options warehouseUrl and sourceUrl, SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, or PGUSER and PGPASSWORD)"
  );
}

/** A name in lower case, an IP address without brackets, or the folder of a socket. */
function checkedHost(host: string): string {
  if (host.includes(',')) throw new Error('names more than one host');
  return host.startsWith('/') ? host : host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

function shownHost(host: string): string {
  if (host.startsWith('/')) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}
