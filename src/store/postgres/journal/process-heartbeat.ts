import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { OtherLimit } from '../../../core/workflow-result-schemas.js';
import { BRIEF_MS, identifier, type Postgres } from '../../../postgres/index.js';

/**
 * Notifications within this time are sent as one notification: each notification is a commit, and the server handles such commits one after
 * the other.
 */
const GATHER_MS = 50;
/** Interval of checks without a notification, which may be lost or held back by a pooler. */
const FALLBACK_MS = 500;
/** Longest attempt to send a notification. After this time, all waiting processes have checked by themselves. */
const NOTIFY_MS = 2000;

/**
 * Notifies all processes of a store that units were released. The units are not named, because waiting processes check by themselves.
 * Notifications are sent outside of the transactions that release units, because these transactions must not wait for each other.
 */
export class Notifier {
  readonly #postgres: Postgres;
  readonly #channel: string;
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #sending: Promise<unknown> = Promise.resolve();
  #listening: Promise<() => Promise<void>> | null = null;

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
    // Channels belong to the database and not to the schema, and their names must be short.
    const schema = createHash('sha256').update(postgres.address.schema).digest('hex').slice(0, 16);
    this.#channel = `searchflow_given_${schema}`;
  }

  /** Number of notifications. Read this number before a check, so that `next` notices a notification that came during the check. */
  get count(): number {
    return this.#count;
  }

  /** Notifies all processes that units were released. */
  notify(): void {
    this.#isDue = true;
    this.#gather();
  }

  /** Resolves at the next notification after `seen`, or after half a second. Rejects with the signal's reason if the signal is aborted. */
  async next(seen: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#listening ??= this.#postgres.listen(
      this.#channel,
      () => this.#gather(),
      () => this.#gather(),
    );
    if (this.#count !== seen) return;
    const timeUp = AbortSignal.timeout(FALLBACK_MS);
    const until = signal ? AbortSignal.any([signal, timeUp]) : timeUp;
    await once(this.#emitter, 'notified', { signal: until }).catch(() => signal?.throwIfAborted());
  }

  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#pass();
    await this.#sending;
    await (await this.#listening)?.();
  }

  #gather(): void {
    this.#timer ??= setTimeout(() => this.#pass(), GATHER_MS).unref();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#count++;
    this.#emitter.emit('notified');
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#sending = this.#postgres
      .query('SELECT pg_notify($1, $2)', [this.#channel, ''], { signal: AbortSignal.timeout(NOTIFY_MS) })
      .catch(() => undefined);
  }
}

/** Silence in ms, by the database's clock, after which a process counts as dead. Downtime of the database does not count. */
export const DEAD_AFTER_MS = 15_000;
/** Number of heartbeats within `DEAD_AFTER_MS`. */
const HEARTBEATS = 7.5;
/** Longest wait, on leaving, for a database that cannot be reached. */
const LEAVE_MS = 2000;

/** SQLSTATE of the journal's functions: the process is not registered, perhaps because it counted as dead. */
const UNREGISTERED = 'SF001';

/** The team of a worker, and its task queue. */
export interface WorkerOf {
  readonly team: string;
  readonly queue: string;
}

/**
 * The registration of this process in the store, with heartbeats from a timer. A process that was suspended for long may count as dead.
 * Such a process registers again under another id, and has lost its claims.
 */
export class ProcessHeartbeat {
  /** Time after which a request that was not sent yet is void: the time of death, less that since the last heartbeat. */
  readonly sendWithinMs: number;
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #deadAfterMs: number;
  readonly #left = new AbortController();
  #id = randomUUID();
  #works: WorkerOf | null = null;
  #renewing: Promise<void> | null = null;
  #heartbeat: Promise<void> = Promise.resolve();

  private constructor(postgres: Postgres, deadAfterMs: number) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#deadAfterMs = deadAfterMs;
    this.sendWithinMs = deadAfterMs / 2;
  }

  static async enter(postgres: Postgres, deadAfterMs = DEAD_AFTER_MS): Promise<ProcessHeartbeat> {
    const heartbeat = new ProcessHeartbeat(postgres, deadAfterMs);
    await heartbeat.#register();
    heartbeat.#heartbeat = heartbeat.#sendHeartbeats();
    return heartbeat;
  }

  /** Runs work with the id of this process; registers again and repeats the work if the process counts as dead. */
  async as<T>(work: (id: string) => Promise<T>): Promise<T> {
    const id = this.#id;
    try {
      return await work(id);
    } catch (error) {
      if (!isUnregistered(error)) throw error;
      await this.#renew(id);
      return work(this.#id);
    }
  }

  /** Records that the process is a worker, with its team and task queue. */
  async works(as: WorkerOf): Promise<void> {
    this.#works = as;
    await this.#recordWorks();
  }

  async workersOn(queue: string): ReturnType<typeof livingWorkers> {
    return livingWorkers(this.#postgres, this.#schema, queue, this.#id);
  }

  async #recordWorks(): Promise<void> {
    if (this.#works === null) return;
    const { team, queue } = this.#works;
    await this.#postgres.query(`UPDATE ${this.#schema}.processes SET team = $2, queue = $3 WHERE id = $1`, [
      this.#id,
      team,
      queue,
    ]);
  }

  /** Ends the registration and all claims of this process. */
  async leave(): Promise<void> {
    this.#left.abort();
    await this.#heartbeat;
    // If the database cannot be reached, other processes notice the missing heartbeats.
    await this.#postgres
      .query(`SELECT ${this.#schema}.end_processes(ARRAY[$1]::uuid[])`, [this.#id], {
        signal: AbortSignal.timeout(LEAVE_MS),
        isCall: true,
      })
      .catch(() => undefined);
  }

  async #sendHeartbeats(): Promise<void> {
    const { signal } = this.#left;
    try {
      for (;;) {
        await delay(this.#deadAfterMs / HEARTBEATS, undefined, { signal, ref: false });
        const id = this.#id;
        const [row] = await this.#postgres
          .query<{ known: boolean }>(`SELECT ${this.#schema}.heartbeat($1) AS known`, [id], {
            signal,
            statementMs: BRIEF_MS,
            isCall: true,
          })
          // If the database cannot be reached, the statements that need the database report the outage.
          .catch(() => []);
        if (row?.known === false) await this.#renew(id).catch(() => undefined);
      }
    } catch {
      // `leave` has aborted the wait.
    }
  }

  #renew(lost: string): Promise<void> {
    if (this.#id !== lost) return Promise.resolve();
    this.#renewing ??= this.#register(randomUUID()).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #register(id = this.#id): Promise<void> {
    await this.#postgres.query(
      `SELECT ${this.#schema}.register_process($1, $2, $3, $4)`,
      [id, hostname(), process.pid, this.#deadAfterMs],
      { isCall: true },
    );
    this.#id = id;
    await this.#recordWorks();
  }
}

export function isUnregistered(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === UNREGISTERED;
}

/** The living workers of a task queue, without the process `except`. `schema` is quoted. */
export async function livingWorkers(
  postgres: Pick<Postgres, 'query'>,
  schema: string,
  queue: string,
  except: string | null,
): Promise<readonly (OtherLimit & { readonly team: string })[]> {
  return postgres.query(
    `SELECT host, pid, team FROM ${schema}.processes
     WHERE queue = $1 AND id IS DISTINCT FROM $2 AND clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) <= dead_after
     ORDER BY host, pid`,
    [queue, except],
  );
}
