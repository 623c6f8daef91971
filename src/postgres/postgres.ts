import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientBase, ClientConfig, Pool } from 'pg';
import { type PostgresAddress, whyPlain } from '../core/postgres-address.js';
import { hear } from './hear.js';
import { PostgresAway, PostgresRefused, problemOf } from './problem.js';

/** What a statement needs of a connection. */
export interface PgTransaction {
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The driver's connection, for what has no statement of its own: COPY, cursors. */
  readonly client: ClientBase;
}

/**
 * A database that is waited for: while it is away (restarting, unreachable, out of connections) work is tried again. So
 * everything handed to it must be safe to run twice: the answer to a COMMIT may be lost on the way.
 */
export interface Postgres {
  readonly address: PostgresAddress;
  /** One statement. */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], signal?: AbortSignal): Promise<R[]>;
  /** Work in one transaction, run whole again after a lost connection, a deadlock or a serialization failure. */
  transaction<T>(work: (tx: PgTransaction) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Hears a channel over a connection of its own, made anew whenever it breaks. `onBack` is called each time it is there
   * (again), since what was said meanwhile is lost.
   */
  listen(channel: string, onMessage: (payload: string) => void, onBack: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Connections at most; default 8. */
  readonly max?: number;
  /** How long work waits for a database that is away, in ms; default 5 minutes. */
  readonly patienceMs?: number;
  /** Told in a sentence when the database is away and when it is back. */
  readonly say?: (sentence: string) => void;
}

const PATIENCE_MS = 300_000;
const CONNECT_MS = 5000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;
/** An absence shorter than this is nobody's business. */
const SAID_AFTER_MS = 300;

/**
 * Opens a pool; connects with the first use. Rejects with `PostgresRefused` where the address would send a password in plain text to
 * another host, or names a certificate that can't be read.
 */
export async function openPostgres(address: PostgresAddress, options: PostgresOptions): Promise<Postgres> {
  const { default: pg } = await import('pg');
  const settings = settingsOf(address, options.applicationName);
  const pool = new pg.Pool({ ...settings, max: options.max ?? 8, idleTimeoutMillis: 30_000 });
  // An idle connection that breaks is simply replaced.
  pool.on('error', () => undefined);
  // One that breaks in the moment it is handed out has no listener yet, and would end the process; its next statement says so.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const patient = <T>(work: () => Promise<T>, signal?: AbortSignal) => tryAgain(work, address, options, signal);
  const listeners = new Set<() => Promise<void>>();
  return {
    address,
    query: <R>(text: string, values: readonly unknown[] = [], signal?: AbortSignal) =>
      patient(async () => (await pool.query(text, values as unknown[])).rows as R[], signal),
    transaction: (work, signal) => patient(() => inTransaction(pool, work), signal),
    async listen(channel, onMessage, onBack) {
      const end = await hear(() => new pg.Client(settings), channel, onMessage, onBack);
      listeners.add(end);
      return async () => {
        listeners.delete(end);
        await end();
      };
    },
    async close() {
      await Promise.all([...listeners].map((end) => end()));
      await pool.end();
    },
  };
}

/** The address in the driver's words. What it does not say is said here, so that no variable of the environment leads elsewhere. */
function settingsOf(address: PostgresAddress, applicationName: string): ClientConfig {
  const refuse = (what: string, options?: ErrorOptions) =>
    new PostgresRefused(`The database ${address.shown} ${what}`, null, options);
  const why = whyPlain(address);
  if (why !== null) throw refuse(why);
  const read = (parameter: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw refuse(`can't be connected to: its ${parameter} can't be read (${reasonOf(error)})`, { cause: error });
    }
  };
  const { host, port, database, user, password, parameters } = address;
  const { sslmode, sslrootcert, sslcert, sslkey, connect_timeout: connectSeconds, ...others } = parameters;
  const ca = sslrootcert === undefined || sslrootcert === 'system' ? null : read('sslrootcert', sslrootcert);
  const identity = sslcert && sslkey ? { cert: read('sslcert', sslcert), key: read('sslkey', sslkey) } : {};
  const named = sslmode === 'verify-full' ? {} : { checkServerIdentity: () => undefined };
  const verified = ca === null && sslmode === 'require' ? { rejectUnauthorized: false } : named;
  // Nothing crosses a network there, and no server encrypts it.
  const isPlain = sslmode === undefined || sslmode === 'disable' || host.startsWith('/');
  return {
    application_name: applicationName,
    keepAlive: true,
    ...others,
    ...{ host, port, database },
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password: password.reveal() }),
    ssl: isPlain ? false : { ...identity, ...verified, ...(ca === null ? {} : { ca }) },
    connectionTimeoutMillis: Number(connectSeconds ?? 0) * 1000 || CONNECT_MS,
  };
}

async function inTransaction<T>(pool: Pool, work: (tx: PgTransaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection may break between two statements: the next one says so, this only keeps it from ending the process.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work({
      client,
      query: async <R>(text: string, values: readonly unknown[] = []) =>
        (await client.query(text, values as unknown[])).rows as R[],
    });
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((rollback: Error) => {
      broken ??= rollback;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

async function tryAgain<T>(
  work: () => Promise<T>,
  address: PostgresAddress,
  options: PostgresOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const began = Date.now();
  const until = began + (options.patienceMs ?? PATIENCE_MS);
  let said = false;
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const result = await work();
      if (said) options.say?.(`The database ${address.shown} is back`);
      return result;
    } catch (error) {
      const problem = problemOf(error);
      if (problem === 'other') throw error;
      const reason = reasonOf(error);
      if (problem === 'refused') {
        const code = (error as { code?: string }).code ?? null;
        throw new PostgresRefused(`The database ${address.shown} refuses: ${reason}`, code, { cause: error });
      }
      if (!said && problem === 'away' && Date.now() - began >= SAID_AFTER_MS) {
        said = true;
        options.say?.(`Waiting for the database ${address.shown}: ${reason}`);
      }
      if (Date.now() > until) {
        const sentence = `The database ${address.shown} can't be reached: ${reason}; start it, or correct its address`;
        throw new PostgresAway(sentence, { cause: error });
      }
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
      await delay(wait * (0.5 + Math.random() / 2), undefined, { signal });
    }
  }
}

/** The server's or the system's own words, which name hosts and users but no password. */
function reasonOf(error: unknown): string {
  const told = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
  return told instanceof Error ? told.message : String(told);
}
