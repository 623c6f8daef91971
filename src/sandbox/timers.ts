/** The longest that a timer of Node can wait, in milliseconds. */
const longest = 2 ** 31 - 1;

/** Waits that all end at once when the sandbox closes. */
export class Timers {
  readonly #waiting = new Map<NodeJS.Timeout, () => void>();
  #stopped = false;

  /** True from the close on: whoever waited must drop what it was about to do. */
  get stopped(): boolean {
    return this.#stopped;
  }

  async wait(ms: number): Promise<void> {
    if (ms <= 0 || this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(
        () => {
          this.#waiting.delete(timer);
          resolve();
        },
        Math.min(ms, longest),
      );
      this.#waiting.set(timer, resolve);
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const [timer, resolve] of this.#waiting) {
      clearTimeout(timer);
      resolve();
    }
    this.#waiting.clear();
  }
}
