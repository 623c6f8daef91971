/** The charges of the service, in micro-dollars. A charge is written when the work is done, whether or not the answer arrives. */
export class PurchaseLog {
  #charges = [];

  /** `units`: the charged units, each with its key and amount. */
  charge(operation, units, requestId) {
    this.#charges.push({ operation, units, requestId, at: performance.now(), wallAt: Date.now() });
  }

  /** The total, the number of charged requests, and for each unit the number and sum of its charges. */
  report() {
    let micros = 0;
    const units = {};
    for (const charge of this.#charges) {
      for (const unit of charge.units) {
        micros += unit.micros;
        units[unit.key] ??= { times: 0, micros: 0 };
        units[unit.key].times++;
        units[unit.key].micros += unit.micros;
      }
    }
    return { micros, requests: this.#charges.length, units };
  }

  get charges() {
    return this.#charges;
  }

  /** The charge of each request in micro-dollars, by request id. */
  byRequest() {
    const totals = new Map();
    for (const { requestId, units } of this.#charges) {
      const micros = units.reduce((sum, unit) => sum + unit.micros, 0);
      totals.set(requestId, (totals.get(requestId) ?? 0) + micros);
    }
    return totals;
  }

  /** Keys of the units that were charged more than once, with the number of charges after the first. */
  chargedAgain() {
    const { units } = this.report();
    return new Map(Object.entries(units).flatMap(([key, { times }]) => (times > 1 ? [[key, times - 1]] : [])));
  }
}
