/** Length of the window. The limit holds in every period of one second. */
const windowMs = 1000;

/**
 * A strict sliding window: a request is admitted at `now` only if fewer than `limit` were admitted in the second before it (from
 * `now - 1000 ms`, exclusive, to `now`). Refused requests do not count. Times are of one monotonic clock.
 */
export class RateWindow {
  readonly #limit: number | null;
  #times: number[] = [];
  #head = 0;
  #max = 0;

  /** `limit`: whole number of requests a second; null: no limit. Admitted requests are counted in both cases. */
  constructor(limit: number | null) {
    this.#limit = limit;
  }

  /** Highest rate cost of the requests admitted in one second. */
  get max(): number {
    return this.#max;
  }

  /** Whether a request of this rate cost may be admitted now. A rate cost above the limit is reduced to the limit. */
  fits(now: number, weight = 1): boolean {
    while (this.#head < this.#times.length && now - (this.#times[this.#head] as number) >= windowMs) this.#head += 1;
    if (this.#head > 4096 && this.#head * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#head);
      this.#head = 0;
    }
    return this.#limit === null || this.#inWindow + this.#units(weight) <= this.#limit;
  }

  admit(now: number, weight = 1): boolean {
    if (!this.fits(now, weight)) return false;
    for (let unit = this.#units(weight); unit > 0; unit -= 1) this.#times.push(now);
    this.#max = Math.max(this.#max, this.#inWindow);
    return true;
  }

  get #inWindow(): number {
    return this.#times.length - this.#head;
  }

  #units(weight: number): number {
    return Math.min(weight, this.#limit ?? weight);
  }

  reset(): void {
    this.#times = [];
    this.#head = 0;
    this.#max = 0;
  }
}
