/** Admits this many units in every period of one second; with null there is no limit. */
export class Limiter {
  #unitsPerSecond;
  #admitted = [];
  #used = 0;

  constructor(unitsPerSecond) {
    this.#unitsPerSecond = unitsPerSecond;
  }

  /** Admits a call and returns null, or returns how many milliseconds too early it is. */
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
