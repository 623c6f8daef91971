import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { relative, sep } from 'node:path';
import { DEFAULT_AGENT_WAREHOUSE } from '../../core/agent-run-sync.js';
import {
  isPostgresUrl,
  isRemote,
  type PostgresAddress,
  parseAddress,
  rankOf,
} from '../../core/connections/postgres-address.js';
import { DEFAULT_EVENT_WAREHOUSE } from '../../core/events/walk-job.js';
import type { Allowed } from '../../core/job-entry-schemas.js';
import { DEFAULT_MONITOR_WAREHOUSE } from '../../core/monitors/monitor-names.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import { sinkOf, whyNoSink } from '../../core/rows/sink.js';
import { isAddress, NO_ADDRESS, serverOfAddress, whyNoAddress, whyNoPath } from '../../core/rows/source-fields.js';
import { isWithin } from '../../files/is-within.js';
import { realPath } from '../../files/same-file.js';
import { hasDatabaseForm, POSTGRES_FORM, warehouseFile } from '../../warehouse/addresses.js';
import { firstFolder } from '../../warehouse/export/why-no-target.js';
import { s3Name } from '../../warehouse/publish/place-of.js';
import { SSLMODE, serverOf } from './database-setting.js';
import { NO_PASSWORD, placeOrProblem } from './publish-step.js';
import type { RuntimeConfig } from './runtime-types.js';
import { whyNoWarehouse } from './warehouse-setting.js';

/** The fields of a workflow's input that name a file or a database. */
const fields = ['input', 'into', 'csv', 'secretFile', 'publish'] as const;
type Field = (typeof fields)[number];
export type Names = { readonly [name in Field]?: string | null | undefined };

/** Weakest `sslmode` for a server of `hosts` whose entry names no `sslmode`, so that no password is sent in plain text. */
const DEFAULT_LEAST = 'require';

/** Maximum length of a path: no system accepts longer paths. */
const MAX_PATH_CHARACTERS = 4096;
/** Parameters whose values are paths of files, in the address of a database. */
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * The files and databases that the input of a workflow may name on this worker: files below the folders of the setting `paths`, database
 * servers of the setting `hosts`, and names that a person typed in a command of the same folder or store.
 */
export class Allowlist {
  readonly #config: Pick<RuntimeConfig, 'paths' | 'hosts' | 'warehouse' | 'source' | 'stateDir' | 'sinks'>;
  readonly #entries: Pick<JobEntries, 'allowed'>;

  constructor(
    config: Pick<RuntimeConfig, 'paths' | 'hosts' | 'warehouse' | 'source' | 'stateDir' | 'sinks'>,
    entries: Pick<JobEntries, 'allowed'>,
  ) {
    this.#config = config;
    this.#entries = entries;
  }

  /** Throws `BadInput`, which is not retried, if a name is not allowed. Changes nothing. */
  async check(names: Names): Promise<void> {
    const why = await this.whyRefused(names);
    if (why === null) return;
    // The module is loaded here, because commands load this file to read their settings, and do not need Temporal.
    const { ApplicationFailure } = await import('@temporalio/common');
    throw ApplicationFailure.nonRetryable(why, 'BadInput');
  }

  /** Why the first refused name is refused, in a sentence; null if all are allowed. */
  async whyRefused(names: Names): Promise<string | null> {
    const refused = fields.flatMap((field) => {
      const value = names[field];
      return value === undefined || value === null || isOwnDefault(field, value) ? [] : this.refusals(field, value);
    });
    if (refused.length === 0) return null;
    const typed = new Set((await this.#entries.allowed()).map(keyOf));
    return refused.find(({ named }) => named === null || !typed.has(keyOf(named)))?.why ?? null;
  }

  /** Throws `BadInput` for an open file of an input that is neither allowed itself nor in a folder or pattern that a person typed. */
  async checkFile(file: string, input: string): Promise<void> {
    const isTyped = (await this.#entries.allowed()).some(
      ({ field, what, host }) =>
        field === 'input' && host === hostname() && what === realPath(input) && isWithin(firstFolder(what), file),
    );
    if (!isTyped) await this.check({ input: file });
  }

  /** Names that the settings alone do not allow. */
  refusals(field: Field, value: string): Refusal[] {
    const invalid = whyInvalid(value);
    if (invalid !== null) return [{ named: null, why: `${field}: ${invalid}.` }];
    if (field === 'publish') return this.#ofTarget(value);
    if (field === 'into' && sinkOf(value) !== null) {
      const why = whyNoSink(value, this.#config.sinks);
      return why === null ? [] : [{ named: null, why }];
    }
    const mistyped = field === 'into' ? whyNoWarehouse(value) : null;
    if (mistyped !== null) return [{ named: null, why: `${field}: the value (not shown) ${mistyped}.` }];
    if (field === 'input' && isAddress(value)) return this.#ofAddress(value);
    const path = pathOf(field, value);
    if (path !== null) {
      const noPath = /^file:/i.test(path) ? NO_ADDRESS : whyNoPath(path, process.platform);
      if (noPath !== null) return [{ named: null, why: `${field}: the value (not shown) ${noPath}.` }];
      if (path === '-')
        return [{ named: null, why: `${field}: a workflow cannot read standard input (-); give the path of a file.` }];
      // Pipes are refused: opening one would block a thread of the worker until another program writes to the pipe.
      if (field === 'input' && isPipe(path))
        return [{ named: null, why: `${field}: ${path} is a pipe or socket; give the path of a file.` }];
      return [...this.#ofFile(field, path), ...(field === 'csv' ? otherThanCsv(path) : [])];
    }
    return this.#ofServer(field, value);
  }

  #ofTarget(value: string): Refusal[] {
    const place = placeOrProblem(value);
    if (typeof place === 'string') return [{ named: null, why: `publish: ${place}.` }];
    if (place.kind === 'postgres') {
      const { password = null } = parsed(value) ?? {};
      return password === null ? this.#ofServer('publish', value) : [{ named: null, why: `publish: ${NO_PASSWORD}.` }];
    }
    if (place.kind !== 's3') return this.#ofFile('publish', place.path);
    const bucket = s3Name(place.address);
    if ((this.#config.hosts ?? []).includes(bucket)) return [];
    const why =
      `publish: workflows of this worker may not write to ${bucket}. To allow it, add ${bucket} to SEARCHFLOW_HOSTS ` +
      '(option hosts of SearchflowPlugin).';
    return [{ named: { field: 'publish', what: bucket, host: null }, why }];
  }

  #ofServer(field: Field, value: string): Refusal[] {
    const address = parsed(value);
    if (address === null)
      return [{ named: null, why: `${field}: this is not the address of a PostgreSQL database (${POSTGRES_FORM}).` }];
    const server = serverOf(address);
    const others = filesOf(address).flatMap((file) =>
      this.#isOwnFile(field, file) ? [] : [certificateRefusal(field, file)],
    );
    const marked = withPlainMark(address);
    const known = this.#servers(field).find((one) => one.server === server);
    if (known === undefined) {
      const why =
        `${field}: workflows of this worker may not connect to ${server}. To allow it, add ${server} to SEARCHFLOW_HOSTS ` +
        `(option hosts of SearchflowPlugin), or set ${field === 'input' ? 'SEARCHFLOW_SOURCE_URL (option sourceUrl)' : 'SEARCHFLOW_WAREHOUSE_URL (option warehouseUrl)'} to that database.`;
      const servers = [...new Set([server, marked])];
      return [...servers.map((what) => ({ named: { field, what, host: null }, why })), ...others];
    }
    const { sslmode } = address.parameters;
    // An address without `sslmode` is refused when a connection is opened, see `whyPlain`.
    if (!isRemote(address) || sslmode === undefined || rankOf(sslmode) >= rankOf(known.least)) return others;
    const why =
      `${field}: the connection to ${server} must use sslmode=${known.least} or stricter (got ${sslmode}). To allow ${sslmode}, ` +
      `add ${server}${SSLMODE}${sslmode} to SEARCHFLOW_HOSTS (option hosts of SearchflowPlugin).`;
    return [{ named: { field, what: marked, host: null }, why }, ...others];
  }

  /** An input at an address: its bucket, or its server with its port, must be in `hosts`. */
  #ofAddress(address: string): Refusal[] {
    const server = nameOfAddress(address);
    if (typeof server !== 'string') return [{ named: null, why: `input: ${server.why}.` }];
    const isKnown = (known: string) => (server.startsWith('s3:') ? known : known.toLowerCase()) === server;
    if ([...(this.#config.hosts ?? []), ...this.#servers('input').map((one) => one.server)].some(isKnown)) return [];
    const way =
      `input: workflows of this worker may not read from ${server}. To allow it, add ${server} to SEARCHFLOW_HOSTS ` +
      '(option hosts of SearchflowPlugin).';
    return [{ named: { field: 'input', what: server, host: null }, why: way }];
  }

  #ofFile(field: Field, path: string): Refusal[] {
    const real = realPath(path);
    const roots = (this.#config.paths ?? [process.cwd()]).map((root) => realPath(root));
    const state = realPath(this.#config.stateDir);
    // Workers trust the contents of the state folder, so this folder stays closed unless `paths` names a folder in it.
    const isOpen = (root: string) => isWithin(state, root) || !isWithin(state, real);
    // Of an input that is the folder itself, each file is checked.
    const isBelow = (root: string) => isOpenlyWithin(root, real) || (field === 'input' && real === root);
    if (roots.some((root) => isOpen(root) && isBelow(root))) return [];
    const why =
      `${field}: workflows of this worker may not use ${path}. To allow it, add its folder to SEARCHFLOW_PATHS (option paths of ` +
      'SearchflowPlugin). Links are resolved first, and a hidden folder must be named itself.';
    return [{ named: { field, what: real, host: hostname() }, why }];
  }

  /** The servers of the settings, each with the weakest `sslmode` that a workflow may ask for there. */
  #servers(field: Field): readonly { readonly server: string; readonly least: string }[] {
    const own = this.#ownAddresses(field);
    const hosts = (this.#config.hosts ?? []).map((host) => {
      const [server = host, least = DEFAULT_LEAST] = host.split(SSLMODE);
      return { server, least };
    });
    // A connection to the own server uses the stricter `sslmode` of both addresses, so any `sslmode` is allowed here.
    return [...own.map((address) => ({ server: serverOf(address), least: 'disable' })), ...hosts];
  }

  /** Whether the address in the settings names this certificate file, too. */
  #isOwnFile(field: Field, file: string): boolean {
    return this.#ownAddresses(field).some((own) => filesOf(own).includes(file));
  }

  /** The databases of the settings for this field: rows may also come from the warehouse, and are never written to the source. */
  #ownAddresses(field: Field): readonly PostgresAddress[] {
    const { warehouse, source } = this.#config;
    const own = field === 'input' ? [source, warehouse] : [warehouse];
    return own.flatMap((one) => (one ? (parsed(one.url.reveal()) ?? []) : []));
  }
}

/**
 * Only the owner of the worker or a person chooses certificates: a workflow that names an authority of its own could have the password sent
 * to another server.
 */
function certificateRefusal(field: Field, file: string): Refusal {
  const why =
    `${field}: ${file} is not a certificate of this worker's SEARCHFLOW_WAREHOUSE_URL (option warehouseUrl). Leave it out of the address; ` +
    'to trust another authority, give its file to the worker in NODE_EXTRA_CA_CERTS.';
  return { named: { field, what: realPath(file), host: hostname() }, why };
}

interface Refusal {
  /** The name as a command records it; null if no setting can allow it. */
  readonly named: Allowed | null;
  readonly why: string;
}

/** The caller chooses the cells of a CSV, so under another name the CSV could become the code or the settings of a program. */
function otherThanCsv(path: string): Refusal[] {
  const real = realPath(path);
  if (/\.csv$/i.test(real)) return [];
  const why = `csv: ${path} does not end with .csv. Name a .csv file, or give another name in a command (--csv).`;
  return [{ named: { field: 'csv', what: real, host: hostname() }, why }];
}

/** The bucket or server of an input at an address, as `hosts` names it, or why the address is none. */
function nameOfAddress(address: string): string | { readonly why: string | null } {
  const server = serverOfAddress(address);
  if (server === null) return { why: whyNoAddress(address) };
  if (!/^s3:/.test(address)) return server;
  const place = placeOrProblem(address);
  return typeof place === 'string' ? { why: place } : s3Name(address);
}

/** The path that a name stands for; null for a warehouse on a server, and for rows of a database. */
function pathOf(field: Field, value: string): string | null {
  if (field === 'input' && isPostgresUrl(value)) return null;
  return field === 'into' && hasDatabaseForm(value) ? warehouseFile(value) : value;
}

/** Whether the value is the default warehouse of events, monitors or agent runs. */
const isOwnDefault = (field: Field, value: string): boolean =>
  field === 'into' && [DEFAULT_EVENT_WAREHOUSE, DEFAULT_MONITOR_WAREHOUSE, DEFAULT_AGENT_WAREHOUSE].includes(value);

const closed = new Allowlist({ paths: [], hosts: [], stateDir: '' }, { allowed: async () => [] });

/** The entries that a command records for the names that a person typed. Names that cannot be allowed are left out. */
export function allowedBy(names: Names): readonly Allowed[] {
  const all = fields.flatMap((field) => closed.refusals(field, names[field] ?? '').flatMap(({ named }) => named ?? []));
  return [...new Map(all.map((one) => [keyOf(one), one])).values()];
}

/** The server, with a mark if the connection would send the password in plain text over a network. */
function withPlainMark(address: PostgresAddress): string {
  const plain = isRemote(address) && address.parameters.sslmode === 'disable';
  return plain ? `${serverOf(address)}${SSLMODE}disable` : serverOf(address);
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

function whyInvalid(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return 'give a path or an address';
  if (value.includes('\0')) return 'it contains a NUL character';
  return value.length > MAX_PATH_CHARACTERS ? `it is longer than ${MAX_PATH_CHARACTERS} characters` : null;
}

/** Whether a path is below a folder, with no hidden folder such as `.git` or `.ssh` in between. */
function isOpenlyWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return isWithin(folder, path) && rest !== '' && !rest.split(sep).some((name) => name.startsWith('.'));
}

const keyOf = ({ field, what, host }: Allowed): string => JSON.stringify([field, what, host]);

function isPipe(path: string): boolean {
  try {
    const there = statSync(path);
    return there.isFIFO() || there.isSocket();
  } catch {
    // The problem is reported when the file is read.
    return false;
  }
}
