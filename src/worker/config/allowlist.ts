import { hostname } from 'node:os';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { localFailures } from '../../activities/call/failure.js';
import { DEFAULT_EVENT_WAREHOUSE } from '../../core/events/walk-job.js';
import { DEFAULT_MONITOR_WAREHOUSE } from '../../core/monitors/monitor-names.js';
import type { Allowed, JobEntries } from '../../core/rows/job-entries.js';
import { realPath } from '../../files/same-file.js';
import { isPostgresUrl, isRemote, type PostgresAddress, parseAddress, rankOf, sslModes } from '../../postgres/index.js';
import type { RuntimeConfig } from './runtime-types.js';

/** The fields of a workflow's input that name a file, or a database. */
const fields = ['input', 'into', 'csv', 'secretFile'] as const;
type Field = (typeof fields)[number];
export type Names = { readonly [name in Field]?: string | null | undefined };

/** What a server of `hosts` must be asked for at least, where its entry does not say so: the password is never sent in plain text. */
const DEFAULT_LEAST = 'require';
const ASKS = '?sslmode=';

/** Longer ones no system takes. */
const MOST_OF_A_PATH = 4096;
/** Files that the address of a database names. */
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * What the input of a workflow may name on this worker: files below the folders of its setting `paths`, database servers of its setting
 * `hosts`, and what a person typed in a command of the same folder or store.
 */
export class Allowlist {
  readonly #config: Pick<RuntimeConfig, 'paths' | 'hosts' | 'warehouse' | 'stateDir'>;
  readonly #entries: Pick<JobEntries, 'all' | 'walks' | 'allowed'>;

  constructor(
    config: Pick<RuntimeConfig, 'paths' | 'hosts' | 'warehouse' | 'stateDir'>,
    entries: Pick<JobEntries, 'all' | 'walks' | 'allowed'>,
  ) {
    this.#config = config;
    this.#entries = entries;
  }

  /** Throws `BadInput`, which is not tried again, where a name is not allowed. Looks only. */
  async check(names: Names): Promise<void> {
    const why = await this.whyRefused(names);
    if (why !== null) throw ApplicationFailure.nonRetryable(why, localFailures.badInput);
  }

  /** Why the first name that is not allowed is refused, in a sentence; null where all are allowed. */
  async whyRefused(names: Names): Promise<string | null> {
    const refused = fields.flatMap((field) => {
      const value = names[field];
      return value === undefined || value === null ? [] : this.#refusals(field, value);
    });
    if (refused.length === 0) return null;
    const typed = new Set((await this.#typed()).map(keyOf));
    return refused.find(({ named }) => named === null || !typed.has(keyOf(named)))?.why ?? null;
  }

  /** What the settings alone don't allow. */
  #refusals(field: Field, value: string): Refusal[] {
    const unfit = whyUnfit(value);
    if (unfit !== null) return [{ named: null, why: `${field}: ${unfit}.` }];
    if (field !== 'into' || !isPostgresUrl(value)) {
      if (/^(file:|[a-z][a-z0-9+.-]*:\/\/)/i.test(value))
        return [{ named: null, why: `${field}: this is a URL; give the path of a file.` }];
      if (value === '-')
        return [{ named: null, why: `${field}: - is the standard input of a command; give the path of a file.` }];
      return this.#isOwnDefault(field, value) ? [] : this.#ofFile(field, value);
    }
    const address = parsed(value);
    if (address === null) return [{ named: null, why: `${field}: this is no address of a PostgreSQL database.` }];
    const server = serverOf(address);
    const others = filesOf(address).flatMap((file) => (this.#isOwnFile(file) ? [] : this.#ofFile(field, file)));
    const named = { field, what: withPlainMark(address), host: null };
    const known = this.#servers().find((one) => one.server === server);
    if (known === undefined) {
      const why =
        `${field}: this worker connects workflows to no database of ${server}. To allow it, add ${server} to SEARCHFLOW_HOSTS ` +
        `(option hosts of SearchflowPlugin), or give that database in SEARCHFLOW_WAREHOUSE_URL (option warehouseUrl).`;
      return [{ named, why }, ...others];
    }
    const { sslmode } = address.parameters;
    // Without one the connection itself is refused, see `whyPlain`.
    if (!isRemote(address) || sslmode === undefined || rankOf(sslmode) >= rankOf(known.least)) return others;
    const why =
      `${field}: this worker connects to ${server} with sslmode=${known.least} or stricter (got ${sslmode}). To allow less, write ` +
      `${server}${ASKS}${sslmode} in SEARCHFLOW_HOSTS (option hosts of SearchflowPlugin).`;
    return [{ named, why }, ...others];
  }

  #ofFile(field: Field, path: string): Refusal[] {
    const real = realPath(path);
    const roots = (this.#config.paths ?? [process.cwd()]).map((root) => realPath(root));
    const state = realPath(this.#config.stateDir);
    // What workers believe is there, unless somebody named a folder in it.
    const isOpen = (root: string) => isWithin(state, root) || !isWithin(state, real);
    if (roots.some((root) => isOpen(root) && isOpenlyWithin(root, real))) return [];
    const why =
      `${field}: ${path} is not below a folder that this worker lets workflows name. To allow it, add its folder to SEARCHFLOW_PATHS ` +
      '(option paths of SearchflowPlugin); links count as what they lead to, and hidden folders must be named themselves.';
    return [{ named: { field, what: real, host: hostname() }, why }];
  }

  /** Where events and monitors go if nobody says where. */
  #isOwnDefault(field: Field, path: string): boolean {
    return field === 'into' && [DEFAULT_EVENT_WAREHOUSE, DEFAULT_MONITOR_WAREHOUSE].includes(path);
  }

  /** The servers of the settings, each with the weakest `sslmode` that a workflow may ask for there. */
  #servers(): readonly { readonly server: string; readonly least: string }[] {
    const own = this.#ownAddress();
    const hosts = (this.#config.hosts ?? []).map((host) => {
      const [server = host, least = DEFAULT_LEAST] = host.split(ASKS);
      return { server, least };
    });
    // Whoever connects to the server of the warehouse takes the stricter of both addresses.
    return [...(own ? [{ server: serverOf(own), least: 'disable' }] : []), ...hosts];
  }

  /** A file that the address of the settings names, too. */
  #isOwnFile(file: string): boolean {
    const own = this.#ownAddress();
    return own !== null && filesOf(own).includes(file);
  }

  #ownAddress(): PostgresAddress | null {
    const { warehouse } = this.#config;
    return warehouse ? parsed(warehouse.url.reveal()) : null;
  }

  /** What commands entered, and what is remembered of jobs and walks: these were typed, or checked here when they began. */
  async #typed(): Promise<readonly Allowed[]> {
    const [entered, jobs, walks] = await Promise.all([
      this.#entries.allowed(),
      this.#entries.all(),
      this.#entries.walks(),
    ]);
    const ofEntries = [
      ...jobs.map(({ staged: { input, into, host }, csv }) => ({ host, names: { input, into, csv } })),
      ...walks.map(({ into, host }) => ({ host, names: { into } })),
    ];
    return [
      ...entered,
      ...ofEntries
        .filter(({ host }) => host === undefined || host === hostname())
        .flatMap(({ names }) => allowedBy(names)),
    ];
  }
}

interface Refusal {
  /** What a person may have typed; null: nobody can allow it. */
  readonly named: Allowed | null;
  readonly why: string;
}

/** What a command enters for the names that a person gave it. Names that nobody can allow are left out. */
export function allowedBy(names: Names): readonly Allowed[] {
  return fields.flatMap((field): Allowed[] => {
    const value = names[field];
    if (value === undefined || value === null || value === '-' || whyUnfit(value) !== null) return [];
    if (!isPostgresUrl(value)) return [{ field, what: realPath(value), host: hostname() }];
    const address = parsed(value);
    if (address === null) return [];
    const files = filesOf(address).map((file) => ({ field, what: realPath(file), host: hostname() }));
    const servers = [...new Set([serverOf(address), withPlainMark(address)])];
    return [...servers.map((what) => ({ field, what, host: null })), ...files];
  });
}

/** A database server as settings, messages and entries write it: `host:port`, `[address]:port`, or `/folder:port` of a socket. */
export function serverOf({ host, port }: Pick<PostgresAddress, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The server; marked where its connection would carry the password in plain text over a network. */
function withPlainMark(address: PostgresAddress): string {
  const plain = isRemote(address) && address.parameters.sslmode === 'disable';
  return plain ? `${serverOf(address)}${ASKS}disable` : serverOf(address);
}

function filesOf({ parameters }: PostgresAddress): readonly string[] {
  return fileParameters.flatMap((name) => {
    const file = parameters[name];
    return file === undefined || file === 'system' ? [] : [file];
  });
}

function parsed(address: string): PostgresAddress | null {
  try {
    return parseAddress(address, '');
  } catch {
    return null;
  }
}

function whyUnfit(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return 'give a path or an address';
  if (value.includes('\0')) return 'a path or address holds no NUL';
  return value.length > MOST_OF_A_PATH ? `it is longer than ${MOST_OF_A_PATH} characters` : null;
}

function isWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || !(rest === '..' || rest.startsWith(`..${sep}`) || isAbsolute(rest));
}

/** Whether a path is below a folder without a hidden one on the way, such as `.git` or `.ssh`. */
function isOpenlyWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return isWithin(folder, path) && rest !== '' && !rest.split(sep).some((name) => name.startsWith('.'));
}

const keyOf = ({ field, what, host }: Allowed): string => JSON.stringify([field, what, host]);

/** The default of the setting `paths`. */
export function pathsOf(paths: readonly string[] | undefined, cwd: string): readonly string[] {
  return (paths ?? [cwd]).map((path) => resolve(cwd, path));
}

/**
 * Server of the setting `hosts`: a host, or host and port, with `?sslmode=` for the weakest encryption that workflows may ask for there.
 * Throws an `Error` for what is none.
 */
export function parseServer(text: string): string {
  const [server = '', ...rest] = text.split(ASKS);
  const [least] = rest;
  if (rest.length > 1 || (least !== undefined && rankOf(least) < 0))
    throw new Error(`needs one of ${sslModes.join(', ')}`);
  const socket = /^(\/[^:]*)(?::(\d+))?$/.exec(server);
  const url = socket
    ? `postgres:///x?host=${encodeURIComponent(socket[1] as string)}${socket[2] ? `&port=${socket[2]}` : ''}`
    : `postgres://${server}/x`;
  const address = parseAddress(url, '');
  if (address.user !== null || address.password !== null || address.database !== 'x' || server.includes('?'))
    throw new Error('is no host');
  return least === undefined ? serverOf(address) : `${serverOf(address)}${ASKS}${least}`;
}

/** Whether two addresses are of databases on one server. */
export function isSameServer(one: string, other: string): boolean {
  const [a, b] = [parsed(one), parsed(other)];
  return a !== null && b !== null && serverOf(a) === serverOf(b);
}
