import { WaitQueue } from '../../core/waits/wait-queue.js';
import { AnswerPlace, AnswerRoom } from './answer-room.js';

/** Requests that may be in flight although answers wait for room: enough for the next answers to arrive in time. */
const LEAST = 16;

/**
 * Bounds the number of paid requests that one worker process has in flight. Groups of callers, such as jobs, get permits in rotation, and
 * the callers of one group in the order in which they came. So a small job does not wait for all requests of a large one.
 *
 * If answers have to wait for room, further requests would not make the process faster. So the number falls to that of the answers that do
 * not wait, and rises by one with each request that ends while no answer waits.
 */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  readonly #most: number;
  /** The number of permits at the moment. */
  #limit: number;
  #inside = 0;
  readonly #room = new AnswerRoom(() => this.#lower());
  /** The waiting callers of each group. The group that is next in the rotation comes first. */
  readonly #waiting = new Map<string, WaitQueue<null>>();

  constructor(limit: number) {
    this.#most = limit;
    this.#limit = limit;
  }

  /** Takes a permit; the caller releases the permit with `leave`. Rejects with the signal's reason if the signal is aborted first. */
  enter(signal: AbortSignal, group = ''): Promise<void> {
    if (!signal.aborted && this.#inside < this.#limit) {
      this.#inside++;
      return Promise.resolve();
    }
    const queue = this.#waiting.get(group) ?? new WaitQueue<null>();
    this.#waiting.set(group, queue);
    return queue.wait(null, { signal });
  }

  leave(): void {
    this.#inside--;
    if (this.#room.waiting === 0 && this.#limit < this.#most) this.#limit++;
    while (this.#inside < this.#limit && this.#admit()) this.#inside++;
  }

  /** The place for the answer of a request. */
  place(): AnswerPlace {
    return new AnswerPlace(this.#room);
  }

  #lower(): void {
    this.#limit = Math.min(this.#limit, Math.max(LEAST, this.sent - this.#room.waiting));
  }

  /** Gives a permit to the caller that is next; returns false if no caller waits. */
  #admit(): boolean {
    for (const [group, queue] of this.#waiting) {
      this.#waiting.delete(group);
      const { next } = queue;
      // Aborted callers have left their queue.
      if (!next) continue;
      if (queue.size > 1) this.#waiting.set(group, queue);
      next.resolve();
      return true;
    }
    return false;
  }
}
