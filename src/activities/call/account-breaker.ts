/**
 * Blocks purchases after the first 401 or 402, because every further request would be refused too. A job that is started or
 * resumed after that may send again.
 */
export class AccountBreaker {
  #error: Error | null = null;
  #at = 0;

  /** `at`: the time of the refused request, in Unix ms. Jobs resumed later are not blocked by it. */
  trip(error: Error, at: number): void {
    this.#error = error;
    this.#at = at;
  }

  /** Throws the error of the refused request, unless the job was resumed after it. */
  check(resumedAt: number): void {
    if (this.#error && resumedAt <= this.#at) throw this.#error;
  }
}
