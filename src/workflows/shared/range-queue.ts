/**
 * Numbers of slices or windows in the order in which these are started, as ranges. So even for a million rows the state can be a single pair
 * of numbers.
 */
export type Ranges = readonly (readonly [from: number, to: number])[];

/** Packs distinct numbers into ascending ranges with both ends included. */
export function toRanges(numbers: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

/** The numbers that are left. Numbers are taken from the front; the numbers of unfinished slices or windows are put back. */
export class RangeQueue {
  #ranges: [number, number][];

  constructor(ranges: Ranges) {
    this.#ranges = ranges.map(([from, to]) => [from, to]);
  }

  get ranges(): Ranges {
    return this.#ranges;
  }

  get numbers(): readonly number[] {
    return this.#ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  }

  get size(): number {
    return this.#ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  }

  take(): number | undefined {
    const first = this.#ranges[0];
    if (!first) return undefined;
    const number = first[0]++;
    if (first[0] > first[1]) this.#ranges.shift();
    return number;
  }

  /** Adds a number at the end. */
  putLast(number: number): void {
    const last = this.#ranges.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else this.#ranges.push([number, number]);
  }

  putBack(number: number): void {
    const [first] = this.#ranges;
    if (first && first[0] === number + 1) first[0] = number;
    else this.#ranges.unshift([number, number]);
  }
}
