import { ROW_ID_FIELD, ROWS_FIELD } from '../../../core/rows/row-operation.js';
import { rowIdentity } from '../../rows/duckdb-result-sql.js';
import type { Path, ResultColumn, ValueType } from '../../rows/result-column.js';

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
      const text = `(${source} #>> ${pathOf(from.path)})`;
      if (from.type === 'string') {
        const type = `json_typeof(${source} #> ${pathOf(from.path)})`;
        return `CASE WHEN error_message IS NULL OR ${type} = 'string' THEN ${text} END`;
      }
      return from.type === 'json' ? `(${source} #> ${pathOf(from.path)})` : typed(text, from.type, prefix);
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

/** Length of a list; NULL if the value is not a list. */
export function listLength(json: string): string {
  return `CASE WHEN json_typeof(${json}) = 'array' THEN json_array_length(${json})::bigint END`;
}

/** A path as an array of texts; the path can contain any name. */
export function pathOf(path: Path): string {
  return `ARRAY[${path.map((name) => `'${name.replaceAll('\0', '\\u0000').replaceAll("'", "''")}'`).join(', ')}]::text[]`;
}

/** A text as a value of its type; NULL if the text does not fit. Words such as `infinity` and `today` are not dates. */
export function typed(text: string, type: ValueType, prefix: string): string {
  const reader = (what: 'number' | 'integer' | 'time', value: string) => `${prefix}searchflow_${what}(${value})`;
  const dated = `CASE WHEN ${text} ~ '^\\d{4}-\\d\\d-\\d\\d' THEN ${text} END`;
  switch (type) {
    case 'number':
      return reader('number', text);
    case 'integer':
      return `CASE WHEN ${reader('number', text)} = trunc(${reader('number', text)}) THEN ${reader('integer', text)} END`;
    case 'boolean':
      return `CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`;
    case 'date':
      return `(${reader('time', `left(${dated}, 10)`)} AT TIME ZONE 'UTC')::date`;
    case 'time':
      return reader('time', dated);
    default:
      return text;
  }
}
