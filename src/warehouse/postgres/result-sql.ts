import { ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { TIME } from '../../core/text/value-forms.js';
import { rowIdentity } from '../rows/duckdb-result-sql.js';
import type { Path, ResultColumn, ValueType } from '../rows/result-column.js';

/** SQL for result columns: the source of the rows, and an expression for each column. */
export interface ResultSql {
  readonly from: string;
  readonly shown: readonly string[];
}

/** Reads result columns from `enriched_rows`. `prefix`: the schema with its dot. */
export function resultSql(columns: readonly ResultColumn[], prefix: string): ResultSql {
  const ofRow = columns.some(({ from }) => 'of' in from && from.of === 'row');
  return {
    from: `${prefix}enriched_rows${ofRow ? rowPart : ''}`,
    shown: columns.map(({ from }) => {
      if ('stored' in from) return from.stored;
      if ('count' in from) return listLength(`response #> ${pathOf(from.count)}`);
      const source = from.of === 'row' ? 'row_part' : 'response';
      const at = `${source} #> ${pathOf(from.path)}`;
      if (from.type === 'text') return textOf(at, prefix);
      if (from.type === 'string') {
        return `CASE WHEN error_message IS NULL OR json_typeof(${at}) = 'string' THEN ${textOf(at, prefix)} END`;
      }
      if (from.type === 'array' || from.type === 'object')
        return `CASE WHEN json_typeof(${at}) = '${from.type}' THEN ${at} END`;
      return from.type === 'json' ? `(${at})` : typed(`(${source} #>> ${pathOf(from.path)})`, from.type, prefix);
    }),
  };
}

/** The output of a shared run has a list of objects; this is the object that names the row. */
const rowPart = ` LEFT JOIN LATERAL (${partsOf('response', rowIdentity('row_hash'))} LIMIT 1) AS parts ON true`;

/** Query of the objects (`row_part`) that name this row in the output of a shared run. */
export function partsOf(response: string, rowHash: string): string {
  const list = `${response} #> '{output,structured,${ROWS_FIELD}}'`;
  return `SELECT part AS row_part FROM json_array_elements(CASE WHEN json_typeof(${list}) = 'array' THEN ${list} ELSE '[]' END) part
  WHERE json_typeof(part) = 'object' AND part ->> '${ROW_ID_FIELD}' = ${rowHash}`;
}

/** A value of an answer as text. */
export const textOf = (json: string, prefix: string): string => `${prefix}searchflow_text(${json})`;

/** Length of a list; NULL if the value is not a list. */
export function listLength(json: string): string {
  return `CASE WHEN json_typeof(${json}) = 'array' THEN json_array_length(${json})::bigint END`;
}

/** A path as an array of texts; the path can contain any name. */
export function pathOf(path: Path): string {
  return `ARRAY[${path.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')}]::text[]`;
}

/** A text as a value of its type; NULL if the text does not fit. */
export function typed(text: string, type: ValueType, prefix: string): string {
  const reader = (what: 'number' | 'integer' | 'time', value: string) => `${prefix}searchflow_${what}(${value})`;
  switch (type) {
    case 'number':
    case 'integer':
    case 'time':
      return reader(type, text);
    case 'boolean':
      return `CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`;
    case 'date':
      return `CASE WHEN ${text} ~ '${TIME}' THEN (${reader('time', `left(${text}, 10)`)} AT TIME ZONE 'UTC')::date END`;
    default:
      return text;
  }
}
