import { setTimeout as delay } from 'node:timers/promises';
import type { Grant, Limiter, LimiterView, RateCost } from '../../core/limiter/limiter.js';
import { Serial } from '../../core/processes/serial.js';
import { unlessAborted } from '../../core/processes/wait-queue.js';
import type { MemoryLimiter } from './memory-limiter.js';

/** The right to use a limit, which one process holds at a time. */
export interface Reservation {
  /**
   * Reserves the limit. `usedByOthers`: another process used the limit since the last reservation. `heldBy`: the process that holds the
   * limit, in words.
   */
  take(): Promise<{ readonly usedByOthers: boolean } | { readonly heldBy: string }>;
  release(): Promise<void>;
}

/** Idle time after which the limit is released; a running job sends more often. */
const IDLE_MS = 2000;
const ASK_MS = 200;
/** Waits above this time, in ms, are reported. */
const SAID_AFTER_MS = 3000;

/** A limiter that holds its limit only while there is something to send. While it waits, it reports which process holds the limit. */
export class ReservedLimiter implements Limiter {
  readonly #limiter: MemoryLimiter;
  readonly #reservation: Reservation;
  readonly #say: (sentence: string) => void;
  #users = 0;
  #held = false;
  #heldBy: string | null = null;
  readonly #changes = new Serial();
  #idle: NodeJS.Timeout | undefined;
  readonly #closed = new AbortController();

  constructor(limiter: MemoryLimiter, reservation: Reservation, say: (sentence: string) => void) {
    this.#limiter = limiter;
    this.#reservation = reservation;
    this.#say = say;
  }

  acquire(rateCost: RateCost, signal?: AbortSignal): Promise<Grant> {
    // A call that uses no part of the rate needs no reservation.
    if (rateCost.weight === 0) return this.#limiter.acquire(rateCost, signal);
    return this.#using(signal, () => this.#limiter.acquire(rateCost, signal));
  }

  start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'> {
    if (grant.rateCost.weight === 0) return this.#limiter.start(grant, signal);
    return this.#using(signal, () => this.#limiter.start(grant, signal));
  }

  block(ms: number, reason: string, refused?: RateCost): Promise<void> {
    return this.#limiter.block(ms, reason, refused);
  }

  unblock(): Promise<void> {
    return this.#limiter.unblock();
  }

  queued(rateCost: RateCost): void {
    this.#limiter.queued(rateCost);
  }

  async view(of?: RateCost): Promise<LimiterView> {
    return { ...(await this.#limiter.view(of)), heldBy: this.#heldBy ?? undefined };
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The limiter was closed'));
    clearTimeout(this.#idle);
    await this.#limiter.close();
    await this.#changes.run(() => this.#release());
  }

  async #using<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#users++;
    clearTimeout(this.#idle);
    try {
      const until = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal;
      until.throwIfAborted();
      if (!this.#held)
        await unlessAborted(
          this.#changes.run(() => this.#take(until)),
          until,
        );
      return await work();
    } finally {
      this.#users--;
      if (this.#users === 0 && !this.#closed.signal.aborted) this.#idle = setTimeout(() => this.#rest(), IDLE_MS);
      this.#idle?.unref();
    }
  }

  #rest(): void {
    void this.#changes.run(async () => {
      if (this.#users === 0) await this.#release();
    });
  }

  async #take(until: AbortSignal): Promise<void> {
    const since = performance.now();
    let said = false;
    try {
      while (!this.#held) {
        until.throwIfAborted();
        const taken = await this.#reservation.take();
        if ('usedByOthers' in taken) {
          this.#held = true;
          if (taken.usedByOthers) this.#limiter.refill();
          continue;
        }
        this.#heldBy = taken.heldBy;
        if (!said && performance.now() - since > SAID_AFTER_MS) {
          said = true;
          this.#say(`Waiting for ${taken.heldBy}`);
        }
        await delay(ASK_MS, undefined, { signal: until });
      }
    } finally {
      this.#heldBy = null;
    }
  }

  async #release(): Promise<void> {
    if (!this.#held) return;
    this.#held = false;
    await this.#reservation.release();
  }
}
