import { setTimeout as delay } from 'node:timers/promises';

/** A wait: its end by `performance.now()` and its reason. An unknown end is infinite. */
export interface Wait {
  readonly until: number;
  readonly why: string;
}

/** The waits of a purchase, with their ends and reasons. The progress shows the waits. The list also shows whether all requests wait. */
export class Waits {
  readonly #marks = new Set<Wait>();

  get size(): number {
    return this.#marks.size;
  }

  /** The wait that ends first. */
  get first(): Wait | null {
    return [...this.#marks].reduce<Wait | null>((a, b) => (a !== null && a.until <= b.until ? a : b), null);
  }

  /** Waits for `ms`. Rejects with the signal's reason when aborted. */
  async sleep(ms: number, why: string, signal: AbortSignal): Promise<void> {
    await this.during(delay(ms, undefined, { signal }), why, performance.now() + ms);
  }

  /**
   * Awaits the promise, and lists this wait until the promise settles. `until`: the expected end of the wait by `performance.now()`;
   * infinite if unknown.
   */
  async during<T>(promise: Promise<T>, why: string, until = Number.POSITIVE_INFINITY): Promise<T> {
    const mark = { until, why };
    this.#marks.add(mark);
    try {
      return await promise;
    } finally {
      this.#marks.delete(mark);
    }
  }
}
