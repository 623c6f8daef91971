import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerHolder } from '../../../core/text/presence.js';
import { BRIEF_MS, identifier, type Postgres } from '../../../postgres/index.js';

/** A process that was not heard of for so long is dead, by the database's clock; what the database slept through doesn't count. */
export const DEAD_AFTER_MS = 15_000;
/** Beats in the time after which silence is death. */
const BEATS = 7.5;
/** How long leaving waits for a database that is away: it will notice the silence. */
const LEAVE_MS = 2000;

/** SQLSTATE of the journal's functions: the process is not registered (any more). */
const UNREGISTERED = 'SF001';

/** Whose limit a worker keeps to, and the task queue that it works on. */
export interface WorkerOf {
  readonly team: string;
  readonly queue: string;
}

/**
 * This process in the store, with a sign of life from a timer. One that was stopped for long may find itself taken for dead: it
 * comes in anew under another id, and holds nothing of what it held.
 */
export class Presence {
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #deadAfterMs: number;
  readonly #left = new AbortController();
  #id = randomUUID();
  #works: WorkerOf | null = null;
  #renewing: Promise<void> | null = null;
  #beating: Promise<void> = Promise.resolve();

  private constructor(postgres: Postgres, deadAfterMs: number) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#deadAfterMs = deadAfterMs;
  }

  static async enter(postgres: Postgres, deadAfterMs = DEAD_AFTER_MS): Promise<Presence> {
    const presence = new Presence(postgres, deadAfterMs);
    await presence.#register();
    presence.#beating = presence.#beat();
    return presence;
  }

  /** Does work in the name of this process; once more under a new one where it was taken for dead. */
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

  /** Says that the process is a worker, and whose limit it keeps to. */
  async works(as: WorkerOf): Promise<void> {
    this.#works = as;
    await this.#sayWorks();
  }

  /** Workers on a task queue, other than this process, that are alive. */
  async workersOn(queue: string): Promise<readonly (Pick<WorkerHolder, 'host' | 'pid'> & { readonly team: string })[]> {
    return this.#postgres.query(
      `SELECT host, pid, team FROM ${this.#schema}.processes
       WHERE queue = $1 AND id <> $2 AND clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) <= dead_after
       ORDER BY host, pid`,
      [queue, this.#id],
    );
  }

  async #sayWorks(): Promise<void> {
    if (this.#works === null) return;
    const { team, queue } = this.#works;
    await this.#postgres.query(`UPDATE ${this.#schema}.processes SET team = $2, queue = $3 WHERE id = $1`, [
      this.#id,
      team,
      queue,
    ]);
  }

  /** Gives up all that the process holds. */
  async leave(): Promise<void> {
    this.#left.abort();
    await this.#beating;
    // Away: the others will notice the silence.
    await this.#postgres
      .query(`SELECT ${this.#schema}.end_process($1)`, [this.#id], { signal: AbortSignal.timeout(LEAVE_MS) })
      .catch(() => undefined);
  }

  async #beat(): Promise<void> {
    const { signal } = this.#left;
    try {
      for (;;) {
        await delay(this.#deadAfterMs / BEATS, undefined, { signal, ref: false });
        const id = this.#id;
        const [row] = await this.#postgres
          .query<{ known: boolean }>(`SELECT ${this.#schema}.beat($1) AS known`, [id], {
            signal,
            statementMs: BRIEF_MS,
          })
          // Away for longer than anybody waits: whoever needs the database says so.
          .catch(() => []);
        if (row?.known === false) await this.#renew(id).catch(() => undefined);
      }
    } catch {
      // Left.
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
    await this.#postgres.query(`SELECT ${this.#schema}.register_process($1, $2, $3, $4)`, [
      id,
      hostname(),
      process.pid,
      this.#deadAfterMs,
    ]);
    this.#id = id;
    await this.#sayWorks();
  }
}

export function isUnregistered(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === UNREGISTERED;
}
