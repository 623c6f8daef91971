/** Bounds the number of paid requests that one worker process has in flight. Permits are given first come, first served. */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Takes a permit, which the caller releases with `leave`. Rejects with the signal's reason if aborted before that. */
  enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(signal.reason);
      };
      const admit = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(admit);
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
