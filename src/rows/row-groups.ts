import type { ReadRow } from './stage-row.js';

/** A row and the unit that it shares with adjacent rows. */
export interface GroupedRow {
  readonly row: ReadRow;
  /** Null for a row that cannot be bought. */
  readonly unit: string | null;
}

/**
 * Groups adjacent rows in their order, with up to `size` different good rows per unit. Bad rows stay between the good rows and have no
 * unit.
 */
export class RowGroups {
  readonly #size: number;
  readonly #join: (units: readonly string[]) => string;
  #waiting: ReadRow[] = [];
  #units: string[] = [];

  constructor({ size, join }: { readonly size: number; join(units: readonly string[]): string }) {
    this.#size = size;
    this.#join = join;
  }

  /** Adds a row; returns the rows of a complete group. */
  add(row: ReadRow): readonly GroupedRow[] {
    this.#waiting.push(row);
    // Equal rows are sent once, so they count as one row of the group.
    if (row.found.problem === null && !this.#units.includes(row.found.unit)) this.#units.push(row.found.unit);
    return this.#units.length >= this.#size ? this.end() : [];
  }

  /** Ends the current group; returns its rows. */
  end(): readonly GroupedRow[] {
    const unit = this.#units.length > 0 ? this.#join(this.#units) : null;
    const rows = this.#waiting.map((row) => ({ row, unit: row.found.problem === null ? unit : null }));
    this.#waiting = [];
    this.#units = [];
    return rows;
  }
}
