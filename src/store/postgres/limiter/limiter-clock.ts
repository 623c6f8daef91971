/** Differences below this are jitter of reading two clocks, not a step of one. */
const SLOP_MS = 2;

/**
 * The database's clock (Unix ms) told in this process's monotonic one. Every answer says what time it was at the database, some
 * time between asking and hearing: the answer that came fastest tells it best. One that contradicts it is believed: then a clock
 * was set, or drifted.
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
