import { isLoopback } from './loopback.js';
import { nearest } from './nearest.js';
import { Secret } from './secret.js';

/** An address of a PostgreSQL database, taken apart. */
export interface PostgresAddress {
  /** A name or IP address without brackets, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly schema: string;
  readonly user: string | null;
  readonly password: Secret | null;
  /** The parameters that are the driver's, such as `sslmode`; none of them is a secret. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Host, port, database and schema: the identity of the place, fit to be printed, stored and compared. */
  readonly shown: string;
  /** The same with the parameters: an address for others to connect to, without user or password. */
  readonly carried: string;
}

/**
 * How a connection is encrypted, from the weakest to the strictest, with libpq's meaning: `require` encrypts and verifies nothing, with
 * `sslrootcert` it is `verify-ca`; `verify-full` verifies authority and host name.
 */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof sslModes)[number];

const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'] as const;
/** What an address names beside the driver's parameters. `uselibpqcompat` says what always holds here. */
const ownParameters = ['schema', 'host', 'port', 'user', 'password', 'uselibpqcompat'];
const driverParameters = [
  ...tlsParameters,
  ...['application_name', 'options', 'connect_timeout', 'client_encoding'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
];
const milliseconds = /_timeout$/;

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://user:password@host:port/database?schema=name&sslmode=verify-full`. Throws an `Error` that quotes no value of the
 * address, which may hold a password.
 */
export function parseAddress(url: string, defaultSchema: string): PostgresAddress {
  if (!isPostgresUrl(url) || !URL.canParse(url) || new URL(url).hash !== '')
    throw new Error('is not an address such as postgres://host:5432/database');
  const address = new URL(url);
  const given = new Map(address.searchParams);
  if (given.size !== [...address.searchParams].length) throw new Error('gives a parameter twice');
  const once = (name: string, inFront: string): string | null => {
    if (inFront !== '' && given.has(name)) throw new Error(`names its ${name} twice`);
    return (inFront === '' ? given.get(name) : decoded(inFront)) || null;
  };
  const host = hostOf(once('host', address.hostname) ?? 'localhost');
  const port = Number(once('port', address.port) ?? '5432');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('has a port that is none');
  const schema = given.get('schema') || defaultSchema;
  if (schema.length > 63 || schema.includes('\0') || schema.startsWith('pg_'))
    throw new Error('names a schema that PostgreSQL would not take');
  // Functions of ours stand between such marks.
  if (schema.includes('$body$')) throw new Error('names a schema that holds $body$');
  const database = decoded(address.pathname.slice(1));
  if (database === '') throw new Error('names no database (postgres://host:5432/database)');
  const user = once('user', address.username);
  const password = once('password', address.password);
  const parameters = parametersOf(given);
  const place = `postgres://${shownHost(host)}:${port}/${encodeURIComponent(database)}`;
  const own = schema === defaultSchema ? [] : [`schema=${encodeURIComponent(schema)}`];
  const others = Object.entries(parameters).map(
    ([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2F', '/')}`,
  );
  const withQuery = (query: readonly string[]) => (query.length === 0 ? place : `${place}?${query.join('&')}`);
  return {
    ...{ host, port, database, schema, user, parameters },
    password: password === null ? null : new Secret(password),
    shown: withQuery(own),
    carried: withQuery([...own, ...others]),
  };
}

/** Those of the driver, in one order whatever the order they were given in. Throws for one that has no effect. */
function parametersOf(given: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  for (const name of given.keys()) {
    if (ownParameters.includes(name) || driverParameters.includes(name)) continue;
    const meant = name === 'ssl' ? 'sslmode' : nearest(name, [...ownParameters, ...driverParameters]);
    // A name is shown only where it is one: a password with a `?` or `&` in it is cut into names, too.
    const shown = meant === null ? 'a parameter that is not known' : `the parameter ${name}, which is not known`;
    throw new Error(
      `has ${shown}; ${meant === null ? `known are ${driverParameters.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }
  if ((given.get('uselibpqcompat') ?? 'true') !== 'true')
    throw new Error('has uselibpqcompat, but sslmode always has the meaning of libpq here; leave it out');
  const parameters: Record<string, string> = {};
  for (const name of driverParameters) {
    const value = given.get(name);
    if (value === undefined || value === '') continue;
    if (milliseconds.test(name) && !/^\d{1,9}$/.test(value)) throw new Error(`has a ${name} that is no whole number`);
    parameters[name] = value;
  }
  checkTls(parameters);
  return parameters;
}

function checkTls({ sslmode, sslrootcert, sslcert, sslkey, sslnegotiation }: Readonly<Record<string, string>>): void {
  const choice = `give ${sslModes.join(', ')}`;
  if (sslmode === 'allow' || sslmode === 'prefer')
    throw new Error(`has sslmode=${sslmode}, which goes on in plain text where the server wants it; ${choice}`);
  if (sslmode !== undefined && rankOf(sslmode) < 0) throw new Error(`has an sslmode that is not known; ${choice}`);
  if (sslmode === 'verify-ca' && sslrootcert === undefined)
    throw new Error('has sslmode=verify-ca without sslrootcert; give that file, or use verify-full');
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    throw new Error(
      'has sslrootcert=system without sslmode=verify-full; anybody can get a certificate of such an authority',
    );
  if ((sslcert === undefined) !== (sslkey === undefined)) throw new Error('has one of sslcert and sslkey; give both');
  if (sslnegotiation !== undefined && !['postgres', 'direct'].includes(sslnegotiation))
    throw new Error('has an sslnegotiation that is neither postgres nor direct');
  const plain = sslmode === undefined || sslmode === 'disable';
  if (plain && (sslrootcert ?? sslcert ?? (sslnegotiation === 'direct' ? sslnegotiation : undefined)) !== undefined)
    throw new Error('has parameters of TLS but no sslmode that encrypts; add sslmode=verify-full');
}

/** Position of a mode among {@link sslModes}, from the weakest; -1 for none of them. */
export function rankOf(sslmode: string | undefined | null): number {
  return (sslModes as readonly (string | undefined | null)[]).indexOf(sslmode);
}

/** Whether a connection leaves this machine: one to loopback or to a socket needs no encryption. */
export function isRemote({ host }: Pick<PostgresAddress, 'host'>): boolean {
  return !host.startsWith('/') && !isLoopback(host);
}

/**
 * Why a connection must not be opened, in words that follow the name of the database; null where it may. Password and rows cross a
 * network in plain text only where the address says so.
 */
export function whyPlain(address: PostgresAddress): string | null {
  if (address.parameters.sslmode !== undefined || !isRemote(address)) return null;
  return 'is on another host and its address does not say how to encrypt; add sslmode=verify-full, or sslmode=disable for plain text';
}

/**
 * The address of whoever has the credentials for a database that another address names. What the owner set holds, so that no address in
 * a job weakens it; a stricter `sslmode` of the other one is taken, with what belongs to it.
 */
export function strictest(own: string, other: string): string {
  const [owner, asked] = [new URL(own), new URL(other)];
  if (rankOf(asked.searchParams.get('sslmode')) <= rankOf(owner.searchParams.get('sslmode'))) return own;
  for (const name of tlsParameters) {
    const value = asked.searchParams.get(name);
    if (value !== null) owner.searchParams.set(name, value);
  }
  return owner.href;
}

/** Fields of a workflow's input that hold an address or the path of a file. */
const addressFields = ['into', 'origin', 'input', 'csv', 'secretFile'];
/** Fields that hold such an input: that of a schedule, and a job that was staged before. */
const inputFields = ['input', 'staged'];

/**
 * Why the addresses of a workflow's input can't be taken, in a sentence that quotes none of them; null where they can. An input stays in
 * the history of its workflow, and where its rows go in tables, results and messages: no password has a place there.
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
    const url = /^[a-z][a-z0-9+.-]+:\/\//i.test(address) && URL.canParse(address) ? new URL(address) : null;
    return url && (url.username || url.password) ? 'holds a user or password; leave them out' : null;
  }
  try {
    const { user, password } = parseAddress(address, '');
    if (user === null && password === null) return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return (
    'holds a user or password, which the history of this workflow keeps: change the password, give the address without both, and ' +
    "give them to the worker (the plugin's option warehouseUrl, SEARCHFLOW_WAREHOUSE_URL, or PGUSER and PGPASSWORD)"
  );
}

/** A name in lower case, an address without brackets, the path of a socket's folder. */
function hostOf(host: string): string {
  if (host.includes(',')) throw new Error('names more than one host');
  return host.startsWith('/') ? host : host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

function shownHost(host: string): string {
  if (host.startsWith('/')) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}

/** A password may hold a `%` that begins no escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
