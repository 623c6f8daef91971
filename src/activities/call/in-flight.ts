import { WaitQueue } from '../../core/waits/wait-queue.js';

/** Bounds the number of paid requests that one worker process has in flight. Permits are given first come, first served. */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  #free: number;
  readonly #waiting = new WaitQueue<null>();

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Takes a permit; the caller releases the permit with `leave`. Rejects with the signal's reason if the signal is aborted first. */
  enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#free === 0) return this.#waiting.wait(null, { signal });
    this.#free--;
    return Promise.resolve();
  }

  leave(): void {
    const { next } = this.#waiting;
    if (next) next.resolve();
    else this.#free++;
  }
}
