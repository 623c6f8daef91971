import { type ColumnType, JSON_TYPE, TEXT } from '../core/rows/column-type.js';
import { canonicalExactJson, type ExactJson, numberText, plainText } from '../core/text/exact-json.js';

const MOST_DIGITS = 38;
/** Digits that a double holds of every number. */
const DOUBLE_DIGITS = 15;
/** Digits of the longest text that a double needs. */
const MOST_DOUBLE_DIGITS = 17;
const [MAX_LONG, MAX_HUGE] = [2n ** 63n, 2n ** 127n];

/** The kinds of the values of a column, from which its type is chosen. */
export class JsonColumn {
  #booleans = false;
  #texts = false;
  #parts = false;
  #integers = false;
  #fractions = false;
  /** Whether a number has more digits than a double holds, or zeros at its end, as decimals have. */
  #isExact = false;
  #hasExponent = false;
  /** Whether all numbers are single-precision, and whether one needs more digits as a double than as such a number. */
  #isSingle = true;
  #isLonger = false;
  #whole = 1;
  #scale = 0;
  #largest = 0n;

  add(value: ExactJson): void {
    if (value === null) return;
    if (typeof value === 'boolean') this.#booleans = true;
    else if (typeof value !== 'string') this.#parts = true;
    else {
      const number = numberText(value);
      if (number === null) this.#texts = true;
      else this.#addNumber(number);
    }
  }

  #addNumber(number: string): void {
    const [, whole = '', fraction, exponent] = /^-?(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(number) ?? [];
    this.#whole = Math.max(this.#whole, whole.length);
    this.#isSingle &&= Math.fround(Number(number)) === Number(number);
    if (this.#isSingle && !this.#isLonger && number.length > FLOAT_DIGITS)
      this.#isLonger = floatText(Number(number)) !== doubleText(Number(number));
    if (exponent !== undefined) this.#hasExponent = true;
    if (fraction === undefined && exponent === undefined) {
      this.#integers = true;
      if (whole.length > DOUBLE_DIGITS) {
        const value = number.startsWith('-') ? BigInt(whole) - 1n : BigInt(whole);
        if (value > this.#largest) this.#largest = value;
      }
      return;
    }
    this.#fractions = true;
    if (exponent !== undefined) {
      const digits = whole.length + (fraction?.length ?? 0);
      this.#isExact ||= digits > MOST_DOUBLE_DIGITS || !Number.isFinite(Number(number));
    }
    if (fraction === undefined) return;
    this.#scale = Math.max(this.#scale, fraction.length);
    if (whole.length + fraction.length > DOUBLE_DIGITS || (fraction.endsWith('0') && fraction !== '0'))
      this.#isExact ||= exponent === undefined && doubleText(Number(number)) !== number;
  }

  /** Returns the type of the column. Values of several kinds are texts. */
  type(): ColumnType {
    const isNumber = this.#integers || this.#fractions;
    const kinds = [this.#booleans, this.#texts, this.#parts, isNumber].filter(Boolean).length;
    if (kinds !== 1 || this.#texts) return TEXT;
    if (this.#booleans) return 'BOOLEAN';
    if (this.#parts) return JSON_TYPE;
    if (!this.#fractions) return this.#largest < MAX_LONG ? 'BIGINT' : this.#largest < MAX_HUGE ? 'HUGEINT' : TEXT;
    const hasLongInteger = this.#largest >= 2n ** 53n;
    // Programs write a single-precision number as the double of the same value, such as 0.3333333432674408.
    if (!this.#isExact && !hasLongInteger) return this.#isSingle && this.#isLonger ? 'FLOAT' : 'DOUBLE';
    const digits = this.#whole + this.#scale;
    if (this.#hasExponent || digits > MOST_DIGITS) return TEXT;
    return `DECIMAL(${digits <= 18 ? 18 : MOST_DIGITS},${this.#scale})`;
  }
}

/** Returns the canonical text of a value in a column of this type; null: no value. */
export function jsonCell(value: ExactJson | undefined, type: ColumnType): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return canonicalExactJson(value);
  const number = numberText(value);
  if (number === null) return plainText(value);
  if (type === 'DOUBLE') return doubleText(Number(number));
  if (type === 'FLOAT') return floatText(Number(number));
  if (!type.startsWith('DECIMAL')) return number === '-0' && type !== TEXT ? '0' : number;
  const scale = Number(/,(\d+)\)$/.exec(type)?.[1]);
  const [whole = '', fraction = ''] = number.split('.');
  return scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, '0')}`;
}

/** Returns the shortest text of a single-precision number, as DuckDB writes it: `0.1`, also for the double nearest to it. */
function floatText(value: number): string {
  if (value === 0) return doubleText(value);
  for (let digits = 1; digits < FLOAT_DIGITS; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return doubleText(short);
  }
  return doubleText(Number(value.toPrecision(FLOAT_DIGITS)));
}

/** Digits of the longest text that a single-precision number needs. */
const FLOAT_DIGITS = 9;

/** Returns the shortest text of a double, as DuckDB writes it: `3.0`, `0.0001`, `1e-05`, `1e+16`. */
export function doubleText(value: number): string {
  const [digits = '', power = '0'] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const exponent = Number(power);
  if (exponent < -4 || exponent > 15)
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  const all = digits.replace('.', '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${all}`;
  const whole = all.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${all.slice(exponent + 1) || '0'}`;
}
