import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Postgres } from '../../../postgres/index.js';

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
