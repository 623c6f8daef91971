import type { ReadRow } from './stage-row.js';

/** A row with the unit that it shares with its neighbours. */
export interface GroupedRow {
  readonly row: ReadRow;
  /** Null for a row that can't be bought. */
  readonly unit: string | null;
}

/** Puts rows that come after one another together, so many good ones a unit, in their order; bad ones go along. */
export class RowGroups {
  readonly #size: number;
  readonly #join: (units: readonly string[]) => string;
  #waiting: ReadRow[] = [];
  #units: string[] = [];

  constructor({ size, join }: { readonly size: number; join(units: readonly string[]): string }) {
    this.#size = size;
    this.#join = join;
  }

  /** Takes a row; gives those whose group is whole. */
  add(row: ReadRow): readonly GroupedRow[] {
    this.#waiting.push(row);
    // Equal rows are asked for once.
    if (row.found.problem === null && !this.#units.includes(row.found.unit)) this.#units.push(row.found.unit);
    return this.#units.length >= this.#size ? this.end() : [];
  }

  /** Gives what waits. */
  end(): readonly GroupedRow[] {
    const unit = this.#units.length > 0 ? this.#join(this.#units) : null;
    const rows = this.#waiting.map((row) => ({ row, unit: row.found.problem === null ? unit : null }));
    this.#waiting = [];
    this.#units = [];
    return rows;
  }
}
