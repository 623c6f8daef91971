import { type ColumnType, isNested, JSON_TYPE, TEXT } from '../../core/rows/column-type.js';
import { ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { literal } from '../shared/duckdb-quote.js';
import { typedValue } from '../shared/typed-value.js';
import type { Path, ResultColumn } from './result-column.js';

/**
 * SQL for result columns. `inner`: columns that an inner query adds to its rows; `shown`: expressions over the inner columns, in the order
 * of the result columns.
 */
export interface ResultSql {
  readonly inner: readonly string[];
  readonly shown: readonly string[];
}

/**
 * Returns the SQL that reads result columns from the rows of a query. One expression reads all texts of an answer,
 * because separate expressions would parse the answer again. With `plain`, JSON is read as text, for files that other programs
 * read.
 */
export function resultSql(columns: readonly Pick<ResultColumn, 'from'>[], plain: boolean): ResultSql {
  const lists = new Map<string, string[]>();
  const fact = (of: string, path: Path) => {
    const list = lists.get(of) ?? [];
    lists.set(of, list);
    return `${of}_facts[${list.push(pointer(path))}]`;
  };
  const shown = columns.map(({ from }) => {
    if ('stored' in from) return from.stored === 'response' && plain ? 'CAST(response AS VARCHAR)' : from.stored;
    const { of } = from;
    const path = 'count' in from ? from.count : from.path;
    const [at, kind] = [`${sourceOf(of)}, ${pointer(path)}`, `json_type(${sourceOf(of)}, ${pointer(path)})`];
    if ('count' in from) return `CASE WHEN ${kind} = 'ARRAY' THEN CAST(json_array_length(${at}) AS BIGINT) END`;
    const whole = () => {
      if (plain) return fact(of, path);
      return path.length === 0 ? sourceOf(of) : `json_extract(${at})`;
    };
    switch (from.type) {
      case 'json':
        return whole();
      case 'array':
      case 'object':
        return `CASE WHEN ${kind} = '${from.type.toUpperCase()}' THEN ${whole()} END`;
      case 'structure':
        return `CASE WHEN ${kind} NOT IN ('VARCHAR', 'NULL') THEN ${whole()} END`;
      case 'onlyText':
        return `CASE WHEN ${kind} = 'VARCHAR' THEN json_extract_string(${at}) END`;
      case 'string':
        return `CASE WHEN error_message IS NULL OR ${kind} = 'VARCHAR' THEN ${fact(of, path)} END`;
      default:
        return typedValue(fact(of, path), from.type);
    }
  });
  const ofRow = columns.some(({ from }) => 'of' in from && from.of === 'row');
  return {
    inner: [
      ...(ofRow ? [`${rowPart('response', rowIdentity('row_hash'))} AS row_part`] : []),
      ...[...lists].map(([of, paths]) => `json_extract_string(${sourceOf(of)}, [${paths.join(', ')}]) AS ${of}_facts`),
    ],
    shown,
  };
}

const sourceOf = (of: string) => (of === 'row' ? 'row_part' : of);

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
