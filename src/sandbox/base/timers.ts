/** Maximum wait of a Node timer, in milliseconds. */
const longest = 2 ** 31 - 1;

/** Waits that all end at once when the sandbox closes. */
export class Timers {
  readonly #waiting = new Map<NodeJS.Timeout, () => void>();
  readonly #closed = new AbortController();

  /** Whether the sandbox was closed. A caller that waited must then not continue its work. */
  get stopped(): boolean {
    return this.#closed.signal.aborted;
  }

  /** A signal that is aborted when the sandbox closes. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Waits for `ms` milliseconds, until `wake` is aborted, or until the sandbox closes. */
  async wait(ms: number, wake?: AbortSignal): Promise<void> {
    if (ms <= 0 || this.stopped || wake?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(timer);
        wake?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, longest));
      this.#waiting.set(timer, end);
      wake?.addEventListener('abort', end);
    });
  }

  stop(): void {
    this.#closed.abort();
    for (const end of [...this.#waiting.values()]) end();
  }
}
