import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Grant, RateCost } from '../../core/limiter/limiter.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';
import type { RateSource } from './rate-source.js';

/**
 * Longest pause between two requests to the rate source. Requests show other processes how many calls wait, and notice a change of the
 * source's clock.
 */
const LONGEST_SLEEP_MS = 2000;

/** Calls of one kind that wait for their turn, first come first served. One request to the rate source covers all waiting calls. */
export class TurnQueue {
  readonly #source: RateSource;
  readonly #rateCost: RateCost;
  readonly #name: string;
  readonly #margin: () => number;
  readonly #calls = new WaitQueue<null, Grant>();
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
    return this.#calls.size;
  }

  /** Records that a call waited in the service's own queue; the next request reports it. */
  noteQueued(): void {
    this.#queued++;
  }

  /** Waits for a turn. `first`: the call goes before all others, because the call had a turn already. */
  wait(signal?: AbortSignal, first = false): Promise<Grant> {
    const onAbort = () => {
      if (this.#calls.size === 0) this.#sleep.abort();
    };
    const turn = this.#calls.wait(null, { signal, first, onAbort });
    if (!this.#running && this.#calls.size > 0) {
      this.#running = true;
      // Calls of the same moment share one request.
      queueMicrotask(() => void this.#run());
    }
    return turn;
  }

  /** Rejects all waiting calls. */
  close(reason: unknown): void {
    this.#calls.rejectAll(reason);
    this.#sleep.abort();
  }

  async #run(): Promise<void> {
    try {
      while (this.#calls.size > 0) {
        const queued = this.#queued;
        this.#queued = 0;
        const { starts, comeAt } = await this.#source.ask({
          rateCost: this.#rateCost,
          queue: this.#name,
          count: this.#calls.size,
          margin: this.#margin(),
          queued,
        });
        // A call that was aborted in the meantime leaves its start unused. Starts are granted at most 250 ms ahead.
        for (const start of starts) this.#calls.next?.resolve({ rateCost: this.#rateCost, ...start });
        if (this.#calls.size > 0) await this.#sleepUntil(comeAt);
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
