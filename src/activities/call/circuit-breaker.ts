import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../../api/wire/errors.js';

/** So many failures in a row, and the service counts as unwell. */
const UNWELL_AFTER = 8;
const MAX_HOLD_MS = 300_000;
/** So many answers in a row that are not the service's, and a person is to look. */
export const MAX_UNRECOGNIZED = 10;

/** Somebody else answers in the service's place: nothing more is sent until a person has looked. */
export class ServiceUnrecognized extends Error {
  override readonly name = 'ServiceUnrecognized';
  constructor(last: ApiError, count: number) {
    const answers = count === 1 ? 'the last answer is' : `the last ${count} answers are`;
    super(`${answers} not the service's: ${last.message}`, { cause: last });
  }
}

/**
 * Holds paid calls back while the service fails every one of them: an outage must not use up the few second buys that an
 * unknown outcome is allowed. While unwell one call at a time tries; the time between tries doubles.
 */
export class CircuitBreaker {
  #failures = 0;
  #unrecognized = 0;
  #successes = 0;
  /** Number of tries that failed since the service became unwell, or null while it is well. */
  #level: number | null = null;
  #until = 0;
  #trying = false;
  #wake = new AbortController();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until the next call may try; 0 while well. */
  get holdMs(): number {
    return this.#level === null ? 0 : Math.max(0, this.#until - this.#now());
  }

  /** Calls that brought an answer. */
  get successes(): number {
    return this.#successes;
  }

  /** Answers since the last success that were not the service's. */
  get unrecognized(): number {
    return this.#unrecognized;
  }

  /** The service may be unwell: until there is an answer one call at a time tries. */
  suspect(): void {
    this.#level ??= 0;
  }

  /** Resolves when a call may be made. `try` must be handed to `succeeded` or `failed` with its outcome. */
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
    this.#unrecognized = 0;
    this.#successes++;
    if (this.#level === null) return;
    this.#level = null;
    this.#trying = false;
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  failed(pass: 'well' | 'try', unrecognized = false): void {
    if (unrecognized) this.#unrecognized++;
    if (pass === 'try') {
      this.#trying = false;
      this.#level = (this.#level ?? 0) + 1;
    } else if (this.#level === null && ++this.#failures >= UNWELL_AFTER) {
      this.#level = 0;
    } else {
      return;
    }
    this.#until = this.#now() + Math.min(MAX_HOLD_MS, 1000 * 2 ** this.#level);
  }

  /** The try ended without saying anything about the service (stopped before it was sent). */
  undecided(pass: 'well' | 'try'): void {
    if (pass === 'try') this.#trying = false;
  }
}
