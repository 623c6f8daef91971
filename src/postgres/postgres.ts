import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientBase, ClientConfig, Pool } from 'pg';
import { type PostgresAddress, whyPlain } from '../core/connections/postgres-address.js';
import { identifier } from './identifier.js';
import {
  cancelStatement,
  PostgresAway,
  PostgresRefused,
  PostgresSilent,
  poolerProblem,
  problemOf,
  SilenceWatch,
  sever,
  type Watched,
} from './silence.js';

/** An open transaction, which runs statements. */
export interface PgTransaction {
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The driver's connection, for COPY and cursors. */
  readonly client: ClientBase;
  /** Sets the time limit of each following statement, in ms, in the server and in this process. */
  allow(statementMs: number): Promise<void>;
}

/** Time limits of work with a database. */
export interface PgLimits {
  /** When this signal is aborted, the running statement is cancelled and the connection is closed, which ends the work. */
  readonly signal?: AbortSignal;
  /** Limit of one statement, in ms. */
  readonly statementMs?: number;
  /**
   * Whether the statement only calls a function of our schema by its full name. Such a call needs no transaction that sets `search_path`.
   */
  readonly isCall?: boolean;
}

/**
 * A database whose outages only delay work: while the database cannot be reached (restarting, no network, out of connections), the work is
 * retried. All work must be safe to run twice, because the answer to a COMMIT may be lost.
 */
export interface Postgres {
  readonly address: PostgresAddress;
  /** Runs one statement. The default time limit is one minute. */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], limits?: PgLimits): Promise<R[]>;
  /**
   * Runs work in one transaction. The whole transaction is retried after a lost connection, a deadlock or a serialization failure. Default
   * limit of each statement: ten minutes.
   */
  transaction<T>(work: (tx: PgTransaction) => Promise<T>, limits?: PgLimits): Promise<T>;
  /**
   * Listens to a channel over a connection of its own, which is reopened whenever it breaks. `onBack` is called each time that connection
   * is opened, because notifications that were sent while the connection was broken are lost.
   */
  listen(channel: string, onMessage: (payload: string) => void, onBack: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** Name of this program in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Maximum number of connections; default 8. */
  readonly max?: number;
  /** Longest wait for a database that cannot be reached, in ms; default 5 minutes. */
  readonly patienceMs?: number;
  /** Called with a sentence when the database cannot be reached, and when it can be reached again. */
  readonly say?: (sentence: string) => void;
}

const PATIENCE_MS = 300_000;
const CONNECT_MS = 5000;
/** Longest wait for a connection that other work of this process uses. */
const FREE_MS = 300_000;
/** Limit, in ms, of statements that are repeated soon anyway: heartbeats and reads of a limit. */
export const BRIEF_MS = 5000;
const STATEMENT_MS = 60_000;

/**
 * Other users may put functions into `public` that fit a call better than PostgreSQL's own functions; such functions would run with our
 * rights. Zone and styles of the server would change times and intervals. All is set in each transaction, because a pooler may give the
 * connection to another client afterwards.
 */
const SESSION = `SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'`;
const TRANSACTION_MS = 600_000;
/**
 * Time in ms by which this process waits longer for a statement than the server does. So the server ends the statement first, with a better
 * message.
 */
const SLACK_MS = 10_000;
/** Idle time after which the server ends a transaction and frees its locks. */
const IDLE_MS = 60_000;
/** Time without traffic after which TCP checks whether the other machine is still there. */
const KEEP_ALIVE_MS = 10_000;
/** Longest wait, on closing, for an answer of a server that still runs statements. */
const PROBE_MS = 1000;
/** Longest wait, on closing, for the server to close its side. */
const GOODBYE_MS = 500;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;
/** Outages below this time, in ms, are not reported. */
const SAID_AFTER_MS = 300;

/**
 * Opens a pool that connects on first use. Rejects with `PostgresRefused` if the address would send a password in plain text to
 * another host, or names a certificate that cannot be read.
 */
export async function openPostgres(address: PostgresAddress, options: PostgresOptions): Promise<Postgres> {
  const { default: pg } = await import('pg');
  const { default: pgpass } = await import('pgpass');
  // The driver warns that its next version will not read the password file, so the file is read here.
  class Client extends pg.Client {
    constructor(config?: ClientConfig) {
      super(config);
      const without = this as { password?: string | null | ((asked: object) => Promise<string | undefined>) };
      without.password ??= (asked) => new Promise((resolve) => pgpass(asked, resolve));
    }
  }
  const settings = settingsOf(address, options.applicationName);
  const { connectionTimeoutMillis } = settings;
  // All clients, including those that are still connecting.
  const clients = new Set<ClientBase>();
  class KnownClient extends Client {
    constructor(config?: ClientConfig) {
      // A copy of the pool's settings lacks the password, which the pool hides.
      super({ ...config, password: config?.password, connectionTimeoutMillis });
      clients.add(this);
      this.on('end', () => clients.delete(this));
      // A connection that breaks while in use has no other listener, and its error would end the process. The next statement on the
      // connection fails anyway.
      this.on('error', () => undefined);
    }
  }
  // The limit of the pool includes the wait for a free connection, which is no outage.
  const size = { max: options.max ?? 8, connectionTimeoutMillis: FREE_MS, idleTimeoutMillis: 30_000 };
  const pool = new pg.Pool({ ...settings, ...size, Client: KnownClient });
  // The pool replaces an idle connection that breaks.
  pool.on('error', () => undefined);
  const watch = new SilenceWatch(
    () => new Client({ ...settings, application_name: `${options.applicationName} (asks)` }),
    (reason) => options.say?.(`Waiting for the database ${address.shown}: ${reason}`),
  );
  const outlast = outlasting(address, options);
  const configuredMs = Number(address.parameters.statement_timeout ?? 0);
  const lower = (statementMs: number) => (configuredMs > 0 ? Math.min(configuredMs, statementMs) : statementMs);
  const listeners = new Set<() => Promise<void>>();
  return {
    address,
    query: <R>(text: string, values: readonly unknown[] = [], limits: PgLimits = {}) => {
      const { signal, statementMs = STATEMENT_MS, isCall = false } = limits;
      const run = async (client: ClientBase) => (await client.query(text, values as unknown[])).rows as R[];
      const work = (client: ClientBase, watched: Watched) =>
        isCall ? run(client) : inTransaction(client, watched, statementMs, lower, () => run(client));
      return outlast(() => using(pool, watch, statementMs, signal, work), signal);
    },
    transaction: (work, { signal, statementMs = TRANSACTION_MS } = {}) =>
      outlast(
        () =>
          using(pool, watch, statementMs + SLACK_MS, signal, (client, watched) =>
            inTransaction(client, watched, statementMs, lower, work),
          ),
        signal,
      ),
    async listen(channel, onMessage, onBack) {
      const end = await listen(() => new Client(settings), watch, channel, onMessage, onBack);
      listeners.add(end);
      return async () => {
        listeners.delete(end);
        await end();
      };
    },
    async close() {
      await Promise.all([...listeners].map((end) => end()));
      const isBusy = pool.totalCount > pool.idleCount;
      // Work over a connection is awaited only while the server answers; a silent server would keep this process from ending.
      const ended = Promise.resolve(pool.end()).catch(() => undefined);
      const answers = isBusy && (await Promise.race([watch.answers(PROBE_MS), ended.then(() => true)]));
      if (isBusy && !answers) for (const client of clients) sever(client);
      await (isBusy && !answers ? Promise.race([ended, delay(GOODBYE_MS, undefined, { ref: false })]) : ended);
      const gone = [...clients].map((client) => once(client, 'end'));
      await Promise.race([Promise.all(gone), delay(GOODBYE_MS, undefined, { ref: false })]);
      for (const client of clients) sever(client);
    },
  };
}

/** The address as options of the driver. All options are set, so that no variable of the environment changes the target. */
function settingsOf(address: PostgresAddress, applicationName: string): ClientConfig {
  const refuse = (problem: string, options?: ErrorOptions) =>
    new PostgresRefused(`The database ${address.shown} ${problem}`, null, options);
  const why = whyPlain(address);
  if (why !== null) throw refuse(why);
  const read = (parameter: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw refuse(`cannot be used: the file of its ${parameter} cannot be read (${reasonOf(error)})`, {
        cause: error,
      });
    }
  };
  const { host, port, database, user, password, parameters } = address;
  const { sslmode, sslrootcert, sslcert, sslkey, connect_timeout: connectSeconds, ...others } = parameters;
  const ca = sslrootcert === undefined || sslrootcert === 'system' ? null : read('sslrootcert', sslrootcert);
  const identity = sslcert && sslkey ? { cert: read('sslcert', sslcert), key: read('sslkey', sslkey) } : {};
  const named = sslmode === 'verify-full' ? {} : { checkServerIdentity: () => undefined };
  const verified = ca === null && sslmode === 'require' ? { rejectUnauthorized: false } : named;
  // A Unix socket crosses no network, and servers do not encrypt connections over it.
  const isPlain = sslmode === undefined || sslmode === 'disable' || host.startsWith('/');
  return {
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...others,
    ...{ host, port, database },
    user: user ?? undefined,
    password: password?.reveal(),
    ssl: isPlain ? false : { ...identity, ...verified, ca: ca ?? undefined },
    connectionTimeoutMillis: Number(connectSeconds ?? 0) * 1000 || CONNECT_MS,
  };
}

/** Runs work over a connection of the pool; closes the connection if the signal is aborted or the server falls silent. */
async function using<T>(
  pool: Pool,
  watch: SilenceWatch,
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (client: ClientBase, watched: Watched) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection may break between two statements. The next statement fails; this listener only keeps the process alive.
  const onError = (error: Error) => {
    broken = error;
  };
  const onAbort = () => {
    broken = new Error('aborted');
    void cancelStatement(client).then(() => sever(client));
  };
  client.on('error', onError);
  const watched = watch.watch(client, limitMs);
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    return await work(client, watched);
  } catch (error) {
    signal?.throwIfAborted();
    if (problemOf(error) === 'away') broken ??= error as Error;
    throw broken instanceof PostgresSilent ? broken : error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    watched.end();
    client.off('error', onError);
    client.release(broken);
  }
}

async function inTransaction<T>(
  client: ClientBase,
  watched: Watched,
  statementMs: number,
  lower: (statementMs: number) => number,
  work: (tx: PgTransaction) => Promise<T>,
): Promise<T> {
  try {
    await client.query(
      `BEGIN; ${SESSION}; SET LOCAL statement_timeout = ${lower(statementMs)}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
    );
    const result = await work({
      client,
      query: async <R>(text: string, values: readonly unknown[] = []) =>
        (await client.query(text, values as unknown[])).rows as R[],
      async allow(longerMs) {
        watched.within(longerMs + SLACK_MS);
        await client.query(`SET LOCAL statement_timeout = ${lower(longerMs)}`);
      },
    });
    await client.query('COMMIT');
    return result;
  } catch (error) {
    watched.within(BRIEF_MS);
    await client.query('ROLLBACK').catch(() => sever(client));
    throw error;
  }
}

/** Returns a function that retries work while the database cannot be reached, and reports the start and the end of an outage. */
function outlasting({ shown }: PostgresAddress, { patienceMs = PATIENCE_MS, say = () => undefined }: PostgresOptions) {
  let isSaid = false;
  return async <T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    const began = Date.now();
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        const result = await work();
        if (isSaid) say(`The database ${shown} is back`);
        isSaid = false;
        return result;
      } catch (error) {
        signal?.throwIfAborted();
        const problem = problemOf(error);
        if (problem === 'other') throw error;
        const reason = reasonOf(error);
        if (problem === 'refused') {
          const code = (error as { code?: string }).code ?? null;
          throw new PostgresRefused(`The database ${shown} refused: ${reason}`, code, { cause: error });
        }
        if (!isSaid && problem === 'away' && Date.now() - began >= SAID_AFTER_MS) {
          isSaid = true;
          say(`Waiting for the database ${shown}: ${reason}`);
        }
        if (Date.now() > began + patienceMs) {
          const sentence = `The database ${shown} cannot be reached: ${reason}. Start it, or correct its address`;
          throw new PostgresAway(sentence, { cause: error });
        }
        const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
        await delay(wait * (0.5 + Math.random() / 2), undefined, { signal });
      }
    }
  };
}

/** The message of the server or the system, which names hosts and users but no password. */
function reasonOf(error: unknown): string {
  const reported = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
  if (!(reported instanceof Error)) return String(reported);
  // The driver's message is about an internal timer, so another message is shown.
  if (/timeout (exceeded|expired)|connection timeout/i.test(reported.message)) return 'no connection in time';
  const pooler = poolerProblem(reported.message);
  return pooler === null ? reported.message : `${reported.message}; ${pooler}`;
}

const WAIT_MS = 250;
/** Interval of the pings that show whether the idle connection still works. */
const PING_MS = 15_000;
/** Longest wait for the answer to a ping. */
const ANSWER_MS = 5000;

/** Runs `LISTEN` over a connection that is reopened whenever it breaks. Returns a function that stops listening. */
async function listen(
  connect: () => Client,
  watch: SilenceWatch,
  channel: string,
  onMessage: (payload: string) => void,
  onBack: () => void,
): Promise<() => Promise<void>> {
  const ended = new AbortController();
  let current: Client | null = null;
  const loop = (async () => {
    while (!ended.signal.aborted) {
      const client = connect();
      current = client;
      const broken = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      const watched = watch.watch(client, ANSWER_MS);
      try {
        await client.connect();
        client.on('notification', ({ payload }) => onMessage(payload ?? ''));
        await client.query(`LISTEN ${identifier(channel)}`);
        onBack();
        while (!ended.signal.aborted) {
          const isBroken = await Promise.race([broken.then(() => true), pause(PING_MS, ended.signal)]);
          if (isBroken) break;
          await client.query('SELECT 1');
        }
      } catch {
        // If the database cannot be reached, the next statement reports the outage.
      }
      current = null;
      watched.end();
      sever(client);
      await pause(WAIT_MS, ended.signal);
    }
  })();
  return async () => {
    ended.abort();
    if (current !== null) sever(current);
    await loop;
  };
}

/** Resolves with false after this many ms, or when the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<false> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  return false;
}
