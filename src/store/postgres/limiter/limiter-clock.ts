/** Differences up to this time come from reading two clocks one after the other. Such differences do not show that a clock was set. */
const SLOP_MS = 2;

/**
 * Converts between the database's clock (Unix ms) and this process's monotonic clock. Each answer contains the database's time at a moment
 * between request and answer, so the fastest answer gives the most exact offset. If a later answer contradicts the offset, a clock was set
 * or drifted, and the offset of that answer is used.
 */
export class LimiterClock {
  #offset = 0;
  #roundTrip = Number.POSITIVE_INFINITY;

  observe(askedAt: number, answeredAt: number, databaseNow: number): void {
    const [least, most] = [databaseNow - answeredAt, databaseNow - askedAt];
    const contradicts = this.#offset < least - SLOP_MS || this.#offset > most + SLOP_MS;
    if (!contradicts && answeredAt - askedAt > this.#roundTrip) return;
    this.#offset = (least + most) / 2;
    this.#roundTrip = answeredAt - askedAt;
  }

  toLocal(databaseTime: number): number {
    return databaseTime - this.#offset;
  }

  toDatabase(localTime: number): number {
    return localTime + this.#offset;
  }
}
