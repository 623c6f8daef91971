/** Settings of the times of a history; times are milliseconds of the wall clock. */
export interface TimelineOptions {
  readonly count: number;
  readonly from: number;
  readonly to: number;
  readonly sameTimestamp: number;
  readonly arrivingPerSecond: number;
  /** New events arrive from this time on. */
  readonly start: number;
}

/**
 * Time of each event of the history: first evenly spread from `from` to `to`, then as new events arrive. An event with a higher
 * number never has an earlier time.
 */
export class Timeline {
  readonly #options: TimelineOptions;

  constructor(options: TimelineOptions) {
    this.#options = options;
  }

  timeOf(event: number): number {
    const { count, from, to, sameTimestamp: same, arrivingPerSecond: rate } = this.#options;
    if (event < count) return from + Math.floor(((to - from) * (Math.floor(event / same) * same)) / count);
    const group = Math.floor((event - count) / same) + 1;
    return this.#arriveFrom + Math.ceil((group * same * 1000) / rate);
  }

  /** Number of events up to `now`, inclusive. */
  countAt(now: number): number {
    const { count, arrivingPerSecond: rate, sameTimestamp: same } = this.#options;
    const arrived = now < this.#arriveFrom ? 0 : Math.floor(((now - this.#arriveFrom) * rate) / 1000) + same;
    return this.#first((event) => this.timeOf(event) > now, rate > 0 ? count + arrived : count);
  }

  /** The first event at or after a time, among the first `end` events. */
  firstAt(time: number, end: number): number {
    return this.#first((event) => this.timeOf(event) >= time, end);
  }

  get #arriveFrom(): number {
    return Math.max(this.#options.to, this.#options.start);
  }

  /**
   * The first event below `end` for which a condition holds. If the condition holds for an event, it must hold for all later
   * ones.
   */
  #first(holds: (event: number) => boolean, end: number): number {
    let [low, high] = [0, end];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (holds(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
