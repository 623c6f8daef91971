/**
 * The worker's memory of a refused key or an empty account: nothing is sent after the first 401 or 402, until a job is
 * started or resumed later than that.
 */
export class AccountBreaker {
  #error: Error | null = null;
  #at = 0;

  /** `at`: when the refused request began; whoever resumed since then knows more than it. */
  trip(error: Error, at: number): void {
    this.#error = error;
    this.#at = at;
  }

  /** Throws the error that halted, where the job has not been resumed since. */
  check(resumedAt: number): void {
    if (this.#error && resumedAt <= this.#at) throw this.#error;
  }
}
