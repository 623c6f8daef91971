import { WaitQueue } from '../../core/waits/wait-queue.js';

/**
 * Bounds the number of paid requests that one worker process has in flight. Groups of callers, such as jobs, get permits in rotation, and
 * the callers of one group in the order in which they came. So a small job does not wait for all requests of a large one.
 */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  #free: number;
  /** The waiting callers of each group. The group that is next in the rotation comes first. */
  readonly #waiting = new Map<string, WaitQueue<null>>();

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Takes a permit; the caller releases the permit with `leave`. Rejects with the signal's reason if the signal is aborted first. */
  enter(signal: AbortSignal, group = ''): Promise<void> {
    if (!signal.aborted && this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    const queue = this.#waiting.get(group) ?? new WaitQueue<null>();
    this.#waiting.set(group, queue);
    return queue.wait(null, { signal });
  }

  leave(): void {
    for (const [group, queue] of this.#waiting) {
      this.#waiting.delete(group);
      const { next } = queue;
      // Aborted callers have left their queue.
      if (!next) continue;
      if (queue.size > 1) this.#waiting.set(group, queue);
      next.resolve();
      return;
    }
    this.#free++;
  }
}
