import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Postgres } from '../../../postgres/index.js';

/** News within so many ms are one piece: a notification a request would be one commit after another for the whole server. */
const GATHER_MS = 50;
/** Whoever waits looks again after so many ms, whatever was heard: a notification may be lost, a pooler may keep them back. */
const FALLBACK_MS = 500;
/** News that can't be told for so long are old: the others have looked. */
const TELL_MS = 2000;

/**
 * Tells every process of a store that something was given back. It says that, not what: who waits looks for itself. Told
 * outside of the transactions that give back, which must not wait for each other.
 */
export class Notifier {
  readonly #postgres: Postgres;
  readonly #channel: string;
  readonly #heard = new EventEmitter().setMaxListeners(0);
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #toTell = false;
  #telling: Promise<unknown> = Promise.resolve();
  #listening: Promise<() => Promise<void>> | null = null;

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
    // Channels are the database's, not the schema's, and their names are short.
    const schema = createHash('sha256').update(postgres.address.schema).digest('hex').slice(0, 16);
    this.#channel = `searchflow_given_${schema}`;
  }

  /** Changes with all news: read before looking, it tells `next` that something came while one looked. */
  get count(): number {
    return this.#count;
  }

  /** Says that something was given back. */
  tell(): void {
    this.#toTell = true;
    this.#gather();
  }

  /** Resolves with the next news after `seen`, or after half a second. Rejects with the signal's reason when aborted. */
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
    await once(this.#heard, 'news', { signal: until }).catch(() => signal?.throwIfAborted());
  }

  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#pass();
    await this.#telling;
    await (await this.#listening)?.();
  }

  #gather(): void {
    this.#timer ??= setTimeout(() => this.#pass(), GATHER_MS).unref();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#count++;
    this.#heard.emit('news');
    if (!this.#toTell) return;
    this.#toTell = false;
    this.#telling = this.#postgres
      .query('SELECT pg_notify($1, $2)', [this.#channel, ''], { signal: AbortSignal.timeout(TELL_MS) })
      .catch(() => undefined);
  }
}
