import { WaitQueue } from '../../core/processes/wait-queue.js';
import { AnswerPlace, AnswerRoom } from './answer-room.js';

/** The number of permits at first. */
const FIRST = 32;
/** The least number of permits while answers wait for room: enough for the next answers to arrive in time. */
const LEAST = 16;
/** While requests wait for a permit, there is one more permit after each of these times: 100 a second, as the highest limit of the service. */
const RISE_MS = 10;

/**
 * Bounds the number of paid requests that one worker process has in flight. Groups of callers, such as jobs, get permits in rotation, and
 * the callers of one group in the order in which they came. So a small job does not wait for all requests of a large one.
 *
 * The number of permits is as low as the speed of the process allows. It begins low, and rises with each request that ends, and with time. If
 * answers wait for room, more requests would not make the process faster: then the number falls to that of the answers that do not wait.
 */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  readonly #most: number;
  /** The number of permits at the moment. */
  #limit: number;
  #inside = 0;
  #rise: NodeJS.Timeout | null = null;
  readonly #room = new AnswerRoom(() => this.#lower());
  /** The waiting callers of each group. The group that is next in the rotation comes first. */
  readonly #waiting = new Map<string, WaitQueue<null>>();

  constructor(limit: number) {
    this.#most = limit;
    this.#limit = Math.min(limit, FIRST);
  }

  /** Takes a permit; the caller releases the permit with `leave`. Rejects with the signal's reason if the signal is aborted first. */
  enter(signal: AbortSignal, group = ''): Promise<void> {
    if (!signal.aborted && this.#inside < this.#limit) {
      this.#inside++;
      return Promise.resolve();
    }
    const queue = this.#waiting.get(group) ?? new WaitQueue<null>();
    this.#waiting.set(group, queue);
    if (this.#limit < this.#most) this.#riseLater();
    return queue.wait(null, { signal });
  }

  leave(): void {
    this.#inside--;
    this.#raise();
    this.#admit();
  }

  /** The place for the answer of a request. */
  place(): AnswerPlace {
    return new AnswerPlace(this.#room);
  }

  #raise(): void {
    if (this.#limit < this.#most && this.#room.waiting === 0) this.#limit++;
  }

  #riseLater(): void {
    this.#rise ??= setTimeout(() => {
      this.#rise = null;
      this.#raise();
      if (this.#admit() && this.#limit < this.#most) this.#riseLater();
    }, RISE_MS).unref();
  }

  #lower(): void {
    this.#limit = Math.min(this.#limit, Math.max(LEAST, this.sent - this.#room.waiting));
  }

  /** Gives free permits to waiting callers. Returns whether more callers may be waiting. */
  #admit(): boolean {
    while (this.#inside < this.#limit) {
      const next = this.#next();
      if (!next) return false;
      this.#inside++;
      next.resolve();
    }
    return true;
  }

  /** Takes out the caller that is next in the rotation. */
  #next() {
    for (const [group, queue] of this.#waiting) {
      this.#waiting.delete(group);
      const { next } = queue;
      // Aborted callers have left their queue.
      if (!next) continue;
      if (queue.size > 1) this.#waiting.set(group, queue);
      return next;
    }
    return null;
  }
}
