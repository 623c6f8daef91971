import { type ColumnType, isNested, JSON_TYPE, TEXT } from '../../core/rows/column-type.js';
import { ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { literal } from '../shared/duckdb-quote.js';
import { typedValue } from '../shared/typed-value.js';
import type { Path, ResultColumn, ValueType } from './result-column.js';

/**
 * SQL for result columns. `inner`: columns that an inner query adds to its rows; `shown`: expressions over the inner columns, in the order
 * of the result columns.
 */
export interface ResultSql {
  readonly inner: readonly string[];
  readonly shown: readonly string[];
}

/**
 * Returns the SQL that reads result columns from `row_store` or `enriched_rows`. One expression reads all texts of an answer,
 * because separate expressions would parse the answer again. With `plain`, JSON is read as text, for files that other programs
 * read.
 */
export function resultSql(columns: readonly ResultColumn[], plain: boolean): ResultSql {
  const lists = { response: [] as string[], row: [] as string[] };
  const fact = (of: 'response' | 'row', path: Path) => {
    const at = lists[of].push(pointer(path));
    return `${of}_facts[${at}]`;
  };
  const shown = columns.map(({ from }) => {
    if ('stored' in from) return from.stored === 'response' && plain ? 'CAST(response AS VARCHAR)' : from.stored;
    if ('count' in from) return `CAST(json_array_length(response, ${pointer(from.count)}) AS BIGINT)`;
    const kind = `json_type(${source[from.of]}, ${pointer(from.path)})`;
    const isWhole = from.type === 'json' || from.type === 'array' || from.type === 'object';
    const text =
      isWhole && !plain ? `json_extract(${source[from.of]}, ${pointer(from.path)})` : fact(from.of, from.path);
    if (isWhole && from.type !== 'json') return `CASE WHEN ${kind} = '${from.type.toUpperCase()}' THEN ${text} END`;
    if (from.type !== 'string') return typed(text, from.type);
    return `CASE WHEN error_message IS NULL OR ${kind} = 'VARCHAR' THEN ${text} END`;
  });
  const ofRow = columns.some(({ from }) => 'of' in from && from.of === 'row');
  return {
    inner: [
      ...(ofRow ? [`${rowPart('response', rowIdentity('row_hash'))} AS row_part`] : []),
      ...(['response', 'row'] as const)
        .filter((of) => lists[of].length > 0)
        .map((of) => `json_extract_string(${source[of]}, [${lists[of].join(', ')}]) AS ${of}_facts`),
    ],
    shown,
  };
}

const source = { response: 'response', row: 'row_part' } as const;

/** The part of a row's hash that is the same for all versions of the row, see `StagedRow.h`. The output of a shared run has this part. */
export const rowIdentity = (rowHash: string): string => `left(${rowHash}, 16)`;

/** The output of a shared run has a list of objects; this is the object that names the row. */
export const rowPart = (response: string, rowHash: string): string =>
  `list_filter(json_extract(${response}, '$.output.structured.${ROWS_FIELD}[*]'),
  lambda part: json_extract_string(part, '$.${ROW_ID_FIELD}') = ${rowHash})[1]`;

/** A JSON pointer; the pointer can contain any name. */
function pointer(path: Path): string {
  return literal(path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''));
}

/** A text as a value of its type; NULL if the text does not fit. */
function typed(text: string, type: ValueType): string {
  if (type === 'boolean') return `CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`;
  return type === 'number' || type === 'integer' || type === 'date' || type === 'time' ? typedValue(text, type) : text;
}

/** DuckDB's expression of a cell of `row_store.input` with the type of its column. A text that does not fit is NULL. */
export function duckDbInput(index: number, type: ColumnType = TEXT): string {
  return duckDbCell(`input[${index + 1}]`, type);
}

/** DuckDB's expression of a canonical text as a value. */
export function duckDbCell(cell: string, type: ColumnType): string {
  if (type === TEXT) return cell;
  if (type === 'BLOB') return `TRY(from_base64(${cell}))`;
  // TRY_CAST alone throws for the key of a map that it cannot read.
  if (isNested(type)) return `TRY(TRY_CAST(TRY_CAST(${cell} AS ${JSON_TYPE}) AS ${type}))`;
  return `TRY_CAST(${cell} AS ${type})`;
}
