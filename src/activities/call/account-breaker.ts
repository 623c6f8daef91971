/**
 * Blocks purchases after a failure that every further request would meet, such as a refused key (401) or missing credits (402). A job that
 * is started or resumed after that failure may send again.
 */
export class AccountBreaker {
  #error: Error | null = null;
  #at = 0;

  /** `at`: the time of the refused request, in Unix ms. Jobs that are resumed after this time are not blocked. */
  trip(error: Error, at: number): void {
    this.#error = error;
    this.#at = at;
  }

  /** Throws the error of the refused request, unless the job was resumed after that request. */
  check(resumedAt: number): void {
    if (this.#error && resumedAt <= this.#at) throw this.#error;
  }
}
