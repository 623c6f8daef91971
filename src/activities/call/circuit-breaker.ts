import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../../api/wire/errors.js';
import type { ErrorCode } from '../../core/errors/registry.js';

/** Consecutive failures after which the service counts as unhealthy. */
const UNWELL_AFTER = 8;
const MAX_HOLD_MS = 300_000;
/** Consecutive answers of another server after which a person must check the connection. */
export const MAX_UNRECOGNIZED = 10;

/** Another server, such as a proxy, answers instead of the service. Nothing is sent until a person has fixed the connection. */
export class ServiceUnrecognized extends Error {
  override readonly name = 'ServiceUnrecognized';
  readonly errorCode = 'service-unrecognized' satisfies ErrorCode;
  constructor(last: ApiError, count: number) {
    const answers = count === 1 ? 'the last answer is' : `the last ${count} answers are`;
    super(`${answers} not from the service: ${last.message}`, { cause: last });
  }
}

/**
 * Holds paid calls back while the service fails all of them. Without the breaker, an outage would use up the few repeat purchases that are
 * allowed after unknown outcomes. While the service is unhealthy, one call at a time probes the service, at doubling intervals.
 */
export class CircuitBreaker {
  /** Number of calls that got an answer. */
  successes = 0;
  /** Number of answers of another server since the last success. */
  unrecognized = 0;
  #failures = 0;
  /** Number of failed probes since the service became unhealthy; null while the service is healthy. */
  #level: number | null = null;
  #until = 0;
  #trying = false;
  #wake = new AbortController();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds until the next probe; 0 while the service is healthy. */
  get holdMs(): number {
    return this.#level === null ? 0 : Math.max(0, this.#until - this.now());
  }

  /** Treats the service as possibly unhealthy: calls are sent one at a time until one call succeeds. */
  suspect(): void {
    this.#level ??= 0;
  }

  /** Resolves when a call may be sent. The result must be passed to `succeeded`, `failed` or `undecided`. */
  async pass(signal: AbortSignal): Promise<'well' | 'try'> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#level === null) return 'well';
      if (!this.#trying && this.holdMs === 0) {
        this.#trying = true;
        return 'try';
      }
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await delay(Math.max(50, this.holdMs), undefined, { signal: woken }).catch(() => undefined);
    }
  }

  succeeded(): void {
    this.#failures = 0;
    this.unrecognized = 0;
    this.successes++;
    if (this.#level === null) return;
    this.#level = null;
    this.#trying = false;
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  failed(pass: 'well' | 'try', unrecognized = false): void {
    if (unrecognized) this.unrecognized++;
    if (pass === 'try') {
      this.#trying = false;
      this.#level = (this.#level ?? 0) + 1;
    } else if (this.#level === null && ++this.#failures >= UNWELL_AFTER) {
      this.#level = 0;
    } else {
      return;
    }
    this.#until = this.now() + Math.min(MAX_HOLD_MS, 1000 * 2 ** this.#level);
  }

  /** Ends the pass of a call that was never sent. Such a call does not show whether the service is healthy. */
  undecided(pass: 'well' | 'try'): void {
    if (pass === 'try') this.#trying = false;
  }
}

/**
 * Blocks purchases after a failure that every further request would meet, such as a refused key (401) or missing credits (402). A job that
 * is started or resumed after that failure may send again.
 */
export class AccountBreaker {
  #error: Error | null = null;
  #at = 0;

  /** `at`: the time of the refused request, in Unix ms. Jobs that are resumed after this time are not blocked. */
  trip(error: Error, at: number): void {
    this.#error = error;
    this.#at = at;
  }

  /** Throws the error of the refused request, unless the job was resumed after that request. */
  check(resumedAt: number): void {
    if (this.#error && resumedAt <= this.#at) throw this.#error;
  }
}
