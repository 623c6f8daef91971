import { millisOf, NUMBER } from '../text/value-forms.js';

/**
 * What follows if a value of an answer does not fit the type of its column (`--on-misfit`). `keep`: the column is NULL in this row.
 * `quarantine`: the row is left out of the job's view, exports and publishes. `stop`: the job pauses.
 */
export const onMisfitChoices = ['keep', 'quarantine', 'stop'] as const;
export type OnMisfit = (typeof onMisfitChoices)[number];

export const isOnMisfit = (value: unknown): value is OnMisfit => onMisfitChoices.some((one) => one === value);

/** A value of an answer that does not fit the type of its column. */
export interface Misfit {
  readonly column: string;
  /** The beginning of the value, as text. */
  readonly value: string;
  /** Type of the column. */
  readonly expected: string;
}

/** A misfit of an answer. `rowHash`: for an answer of several rows, the hash of the row that has the value. */
export interface FoundMisfit extends Misfit {
  readonly rowHash?: string;
}

/** A misfit that pauses a job. `row`: number of its row in the input; null if unknown. */
export interface RowMisfit extends Misfit {
  readonly row: number | null;
}

/** Types whose columns are NULL for a value that does not fit. Columns of other types accept any value. */
export const strictTypes = ['number', 'integer', 'boolean', 'date', 'time', 'array', 'object'] as const;
export type StrictType = (typeof strictTypes)[number];

const isNumber = new RegExp(NUMBER);
const BIGGEST_INTEGER = 2 ** 63;

/**
 * Whether every database reads this value of an answer as a misfit. The database of the job decides about the other values when their rows
 * are loaded, because a number in JavaScript may have lost digits: this function may return false for a misfit, and never true for another value.
 */
export function surelyMisfits(value: unknown, type: StrictType): boolean {
  if (value === null || value === undefined) return false;
  if (type === 'array') return !Array.isArray(value);
  if (type === 'object') return typeof value !== 'object' || Array.isArray(value);
  if (type === 'boolean') return value !== true && value !== false && value !== 'true' && value !== 'false';
  if (type === 'date' || type === 'time') return millisOf(value) === null;
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return false;
  if (typeof value !== 'number' && !(typeof value === 'string' && isNumber.test(value))) return true;
  const number = Number(value);
  if (type === 'number' || !Number.isFinite(number)) return false;
  return !Number.isInteger(number) || Math.abs(number) > BIGGEST_INTEGER;
}
