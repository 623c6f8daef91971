/**
 * Type of a column of an input, in the words of DuckDB, such as `VARCHAR`, `DECIMAL(18,3)` or `STRUCT(a INTEGER)[]`. A cell is the canonical
 * text of its value, see `docs/tasks/sources.md`. Text of a type is safe in a statement.
 */
export type ColumnType = string;

export const TEXT: ColumnType = 'VARCHAR';
export const JSON_TYPE: ColumnType = 'JSON';

const scalars = `BOOLEAN TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT FLOAT DOUBLE
  DECIMAL\\(\\d{1,2},\\d{1,2}\\) DATE TIME TIMESTAMP(_S|_MS|_NS)? TIMESTAMP\\sWITH\\sTIME\\sZONE INTERVAL UUID BLOB JSON VARCHAR`;
const scalar = new RegExp(`^(${scalars.split(/\s+/).join('|')})$`);
/** Types that JSON cannot be cast to without a loss, or whose text has quotes: their columns stay JSON. */
const onlyJson = /\b(BLOB|ENUM|UNION|BIT|VARIANT|BIGNUM)\b|DECIMAL\((1[6-9]|[23]\d),/;
const nestedText = /^(?:[\w ,()[\]]|"(?:[^"\\]|"")*")+$/;

/** Structs whose parts have no names: JSON would keep one of the parts. */
const unnamed = /\bSTRUCT\((?!"|\w+ (?!WITH TIME))/;

/** Whether values are canonical JSON: structs, lists, maps and JSON itself. */
export function isJson(type: ColumnType): boolean {
  return type === JSON_TYPE || isNested(type);
}

/** Whether a type of DuckDB has parts: structs, lists, arrays, maps and unions. */
export function isNested(type: string): boolean {
  return /^(STRUCT|MAP|UNION)\(|\[\d*\]$/.test(type) || type === 'VARIANT';
}

/** The type that a column of this type of DuckDB keeps. Types that only DuckDB knows become `VARCHAR`, and some structs become `JSON`. */
export function columnTypeOf(type: string): ColumnType {
  if (unnamed.test(type)) return TEXT;
  if (isNested(type)) return nestedText.test(type) && !onlyJson.test(type) ? type : JSON_TYPE;
  return scalar.test(type) ? type : TEXT;
}
