import { type ColumnType, columnTypeOf, JSON_TYPE, TEXT } from '../core/rows/column-type.js';
import { canonicalJsonText } from '../core/text/exact-json.js';
import { doubleText } from '../rows/index.js';

/** The type of a value as PostgreSQL describes it. `modifier`: the type's parameters, or -1. */
export interface PgType {
  readonly oid: number;
  readonly modifier: number;
  /** The type of the elements of an array; null for other types. */
  readonly element: number | null;
}

/** Splits the text of an array; elements of inner arrays are lists. */
export type SplitArray = (text: string, element: (text: string) => string) => readonly unknown[];

const scalars: ReadonlyMap<number, ColumnType> = new Map([
  [16, 'BOOLEAN'],
  [17, 'BLOB'],
  [20, 'BIGINT'],
  [21, 'SMALLINT'],
  [23, 'INTEGER'],
  [26, 'BIGINT'],
  [114, JSON_TYPE],
  [700, 'FLOAT'],
  [701, 'DOUBLE'],
  [1082, 'DATE'],
  [1083, 'TIME'],
  [1114, 'TIMESTAMP'],
  [1184, 'TIMESTAMP WITH TIME ZONE'],
  [1186, 'INTERVAL'],
  [2950, 'UUID'],
  [3802, JSON_TYPE],
]);
const NUMERIC = 1700;
const MOST_DIGITS = 38;

/** Whether the type is known without a look into the catalog. */
export const isScalar = (oid: number): boolean => oid === NUMERIC || scalars.has(oid);

/** The type of a column. Types that DuckDB lacks are text, and so is `numeric` without a precision, whose values have any number of digits. */
export function typeOf({ oid, modifier, element }: PgType): ColumnType {
  if (element !== null) return columnTypeOf(`${typeOf({ oid: element, modifier, element: null })}[]`);
  if (oid !== NUMERIC) return scalars.get(oid) ?? TEXT;
  const [precision, scale] = [((modifier - 4) >> 16) & 0xffff, (modifier - 4) & 0x7ff];
  const fits = modifier >= 4 && precision <= MOST_DIGITS && scale <= precision;
  return fits ? `DECIMAL(${precision},${scale})` : TEXT;
}

/** A column whose values DuckDB cannot hold is text, or JSON if they are lists. The type of a list has no number of dimensions. */
export function readColumn(type: PgType, split: SplitArray) {
  const [declared, canonical, depths] = [typeOf(type), canonicalOf(type, split), new Set<number>()];
  const element = type.element === null ? null : typeOf({ ...type, oid: type.element, element: null });
  const beyond = beyondDuckDb.find(([of]) => of.test(element ?? declared))?.[1];
  let isBeyond = false;
  return {
    /** Returns the canonical text of a value from PostgreSQL's text, see `docs/tasks/sources.md`. */
    read(text: string): string {
      const value = canonical(text);
      if (beyond?.test(value)) isBeyond = true;
      if (element !== null && text !== '{}') depths.add(/\{+/.exec(text)?.[0].length ?? 1);
      return value;
    },
    /** The type that holds all values that were read, which may not be the type of the column. */
    type(): ColumnType {
      if (element === null) return isBeyond ? TEXT : declared;
      const [depth = 1] = depths;
      return isBeyond || depths.size > 1 ? JSON_TYPE : columnTypeOf(`${element}${'[]'.repeat(depth)}`);
    },
  };
}

/** Values of PostgreSQL that DuckDB's type cannot hold. */
const beyondDuckDb: readonly (readonly [type: RegExp, value: RegExp])[] = [
  [/^DECIMAL/, /NaN/],
  [/^TIMESTAMP/, /\b294(24[7-9]|2[5-9]\d)-/],
  [/^INTERVAL/, /infinity|\b\d{10,}:/],
];

function canonicalOf(type: PgType, split: SplitArray): (text: string) => string {
  const { element } = type;
  if (element === null) return texts[typeOf(type)] ?? ((text) => text);
  const ofElement = { oid: element, modifier: type.modifier, element: null };
  const canonical = canonicalOf(ofElement, split);
  const plain = jsonPlain.test(typeOf(ofElement));
  const json = (text: string) => {
    const value = typeOf(ofElement) === 'BLOB' ? blobText(text) : canonical(text);
    return plain && /^(-?\d|true$|false$|[[{"]|null$)/.test(value) ? value : JSON.stringify(value);
  };
  return (text) => canonicalJsonText(jsonOf(split(text, json)));
}

/** Types whose texts are JSON: numbers, booleans and JSON itself. */
const jsonPlain = /^(BOOLEAN|SMALLINT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL.*|JSON)$/;

const jsonOf = (items: readonly unknown[]): string =>
  `[${items.map((item) => (Array.isArray(item) ? jsonOf(item) : (item ?? 'null'))).join(',')}]`;

const inBrackets = (text: string) => text.replace(/^(\S+)(.*) BC$/, '$1 (BC)$2');

const texts: Readonly<Record<ColumnType, (text: string) => string>> = {
  BOOLEAN: (text) => (text === 't' ? 'true' : 'false'),
  BLOB: (text) => Buffer.from(text.slice(2), 'hex').toString('base64'),
  FLOAT: floatText,
  DOUBLE: floatText,
  DATE: inBrackets,
  TIMESTAMP: inBrackets,
  'TIMESTAMP WITH TIME ZONE': inBrackets,
  INTERVAL: intervalText,
  [JSON_TYPE]: canonicalJsonText,
};

/** The bytes in DuckDB's words, as it writes them in a list. */
const blobText = (text: string) =>
  text.slice(2).replace(/../g, (byte) => {
    const char = String.fromCharCode(Number.parseInt(byte, 16));
    return /[ -~]/.test(char) && !/["'\\]/.test(char) ? char : `\\x${byte.toUpperCase()}`;
  });

/** PostgreSQL's shortest digits in DuckDB's form. */
function floatText(text: string): string {
  if (text === 'NaN') return 'nan';
  if (text.endsWith('Infinity')) return text.replace('Infinity', 'inf');
  return doubleText(Number(text));
}

/** `1 year 2 mons -3 days +04:05:06` becomes `1 year 2 months -3 days 04:05:06`. */
function intervalText(text: string): string {
  return text
    .replace(/([+-]?\d+) (year|mon|day)s?/g, (_, number: string, unit: string) => {
      const plural = Math.abs(Number(number)) === 1 ? '' : 's';
      return `${Number(number)} ${unit === 'mon' ? 'month' : unit}${plural}`;
    })
    .replace('+', '');
}
