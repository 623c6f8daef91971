/** A value of an answer that does not fit the type of its column. */
export interface Misfit {
  readonly column: string;
  /** The beginning of the value, as text. */
  readonly value: string;
  /** Type of the column. */
  readonly expected: string;
}

/** Types whose columns are NULL for a value that does not fit. Columns of other types accept any value. */
export const strictTypes = ['number', 'integer', 'boolean', 'date', 'time', 'array', 'object'] as const;
export type StrictType = (typeof strictTypes)[number];
