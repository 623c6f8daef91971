/** Smaller differences come from reading two clocks and are not a step of one. */
const SLOP_MS = 2;

/**
 * Converts between the database's clock (Unix ms) and this process's monotonic one. Each answer contains the database's time at a moment
 * between request and answer, so the fastest answer gives the most exact offset. An answer that contradicts the offset replaces it,
 * because a clock was set or drifted.
 */
export class LimiterClock {
  #offset = 0;
  #roundTrip = Number.POSITIVE_INFINITY;

  heard(askedAt: number, heardAt: number, databaseNow: number): void {
    const [least, most] = [databaseNow - heardAt, databaseNow - askedAt];
    const contradicts = this.#offset < least - SLOP_MS || this.#offset > most + SLOP_MS;
    if (!contradicts && heardAt - askedAt > this.#roundTrip) return;
    this.#offset = (least + most) / 2;
    this.#roundTrip = heardAt - askedAt;
  }

  toLocal(databaseTime: number): number {
    return databaseTime - this.#offset;
  }

  toDatabase(localTime: number): number {
    return localTime + this.#offset;
  }
}
