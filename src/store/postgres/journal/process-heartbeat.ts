import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { OtherLimit } from '../../../core/workflow-result-schemas.js';
import { BRIEF_MS, identifier, type Postgres } from '../../../postgres/index.js';

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
