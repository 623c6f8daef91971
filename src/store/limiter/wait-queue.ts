import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Grant, RateCost } from '../../core/limiter/limiter.js';
import type { RateSource } from './rate-source.js';

interface Waiter {
  resolve(grant: Grant): void;
  reject(reason: unknown): void;
}

/**
 * Longest pause between two requests to the rate source. Requests show other processes how many calls wait, and notice a change of the
 * source's clock.
 */
const LONGEST_SLEEP_MS = 2000;

/** Calls of one kind that wait for their turn, first come first served. One request to the rate source covers all of them. */
export class WaitQueue {
  readonly #source: RateSource;
  readonly #rateCost: RateCost;
  readonly #name: string;
  readonly #margin: () => number;
  #queue: Waiter[] = [];
  #queued = 0;
  #running = false;
  #sleep = new AbortController();

  constructor(source: RateSource, rateCost: RateCost, name: string, margin: () => number) {
    this.#source = source;
    this.#rateCost = rateCost;
    this.#name = name;
    this.#margin = margin;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Records that a call waited in the service's own queue; the next request reports it. */
  noteQueued(): void {
    this.#queued++;
  }

  /** Waits for a turn. `first`: the call goes before all others, because it had a turn already. */
  wait(signal?: AbortSignal, first = false): Promise<Grant> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const stopListening = () => signal?.removeEventListener('abort', onAbort);
      const waiter: Waiter = {
        resolve: (grant) => {
          stopListening();
          resolve(grant);
        },
        reject: (reason) => {
          stopListening();
          reject(reason);
        },
      };
      const onAbort = () => {
        this.#queue = this.#queue.filter((other) => other !== waiter);
        if (this.#queue.length === 0) this.#sleep.abort();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      if (first) this.#queue.unshift(waiter);
      else this.#queue.push(waiter);
      if (this.#running) return;
      this.#running = true;
      // Calls of the same moment share one request.
      queueMicrotask(() => void this.#run());
    });
  }

  /** Rejects all waiting calls. */
  close(reason: unknown): void {
    for (const waiter of this.#queue.splice(0)) waiter.reject(reason);
    this.#sleep.abort();
  }

  async #run(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const queued = this.#queued;
        this.#queued = 0;
        const { starts, comeAt } = await this.#source.ask({
          rateCost: this.#rateCost,
          queue: this.#name,
          count: this.#queue.length,
          margin: this.#margin(),
          queued,
        });
        // A call that was aborted in the meantime leaves its start unused. Starts are granted at most 250 ms ahead.
        for (const start of starts) this.#queue.shift()?.resolve({ rateCost: this.#rateCost, ...start });
        if (this.#queue.length > 0) await this.#sleepUntil(comeAt);
      }
    } catch (error) {
      this.close(error);
    } finally {
      this.#running = false;
    }
  }

  async #sleepUntil(time: number): Promise<void> {
    this.#sleep = new AbortController();
    const ms = Math.min(LONGEST_SLEEP_MS, Math.max(0, Math.ceil(time - performance.now())));
    await delay(ms, undefined, { signal: this.#sleep.signal }).catch(() => undefined);
  }
}
