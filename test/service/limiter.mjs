/** Admits this many units in any sliding second; null: no limit. */
export class Limiter {
  #unitsPerSecond;
  #admitted = [];
  #used = 0;

  constructor(unitsPerSecond) {
    this.#unitsPerSecond = unitsPerSecond;
  }

  /** Null if the call is admitted at this moment, otherwise the number of milliseconds by which it is too early. */
  earlyMs(units, at) {
    if (this.#unitsPerSecond === null) return null;
    while (this.#admitted.length > 0 && this.#admitted[0].at <= at - 1000) this.#used -= this.#admitted.shift().units;
    const excess = this.#used + units - this.#unitsPerSecond;
    if (excess <= 0) {
      this.#admitted.push({ at, units });
      this.#used += units;
      return null;
    }
    let freed = 0;
    const last = this.#admitted.find((one) => {
      freed += one.units;
      return freed >= excess;
    });
    return (last?.at ?? at) + 1000 - at;
  }
}
