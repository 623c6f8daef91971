/** Runs pieces of work one at a time, in the order in which they came. A failed piece does not stop the next piece. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier pieces have ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
