import { type ColumnType, isJson, TEXT } from '../../core/rows/column-type.js';
import { ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { TIME } from '../../core/text/value-forms.js';
import { rowIdentity } from '../rows/duckdb-result-sql.js';
import type { Path, ResultColumn, ValueType } from '../rows/result-column.js';
import type { RowDialect } from '../rows/row-sql.js';
import { postgresType } from '../shared/postgres-types.js';
import type { ColumnTypes } from '../shared/relation.js';
import { cutName } from '../shared/view-columns.js';
import { postgresSql } from './sql-dialect.js';

/** Maximum number of columns of a view. */
const MAX_COLUMNS = 1600;
/** Types of the fields of records. */
const recordTypes: ColumnTypes = { ...postgresSql.types, time: postgresSql.types.long };

/** The statements for rows in PostgreSQL's SQL. `prefix`: the schema with its dot. */
export function postgresRowDialect(prefix: string): RowDialect {
  return {
    ...postgresSql,
    prefix,
    text: (json, path) => textOf(`${json} #> ${pathOf(path)}`, prefix),
    id: 'id',
    keepsExact: true,
    now: () => 'now()',
    // As a list, the numbers are looked up in an index. A query without statistics would be compared with all rows of the job.
    among: (number, query) => `${number} = ANY (ARRAY(${query}))`,
    emptied: (list) => `array_fill(CAST(NULL AS text), ARRAY[cardinality(${list})])`,
    isText: (json, path) => `json_typeof(${json} #> ${pathOf(path)}) = 'string'`,
    // One function reads all fields, because a separate expression for each field would parse the result again.
    withFacts: (from, names) =>
      `SELECT s.*, ${names.map((name) => `${textOf(`f."${name}"`, prefix)} AS "fact_${name}"`).join(', ')} FROM ${from} s
       CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(s.result) = 'object' THEN s.result ELSE '{}' END)
         AS f(${names.map((name) => `"${name}" json`).join(', ')})`,
    namesRow: (response, rowHash) => `EXISTS (${partsOf(response, rowHash)})`,
    records: (parameter, columns) => {
      const fields = columns.map(({ name, type }) => `${name} ${recordTypes[type as keyof ColumnTypes]}`);
      return `json_to_recordset(CAST(${parameter} AS json)) AS r(${fields.join(', ')})`;
    },
    view: {
      maxColumns: MAX_COLUMNS,
      namesInUse: `SELECT lower(relname) AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace`,
      // A view that other views depend on cannot be created again.
      columnsOf:
        'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 ORDER BY attnum',
      cut: cutName,
      input: (index, type) => postgresInput(prefix, index, type),
      isNarrow,
      read(columns, where) {
        const ofRow = columns.some(({ from }) => 'of' in from && from.of === 'row');
        const from = `${prefix}enriched_rows${ofRow ? rowPart : ''} WHERE ${where}`;
        return { from, shown: columns.map((column) => resultOf(column, prefix)) };
      },
    },
  };
}

/** Whether PostgreSQL's type lacks values of DuckDB's type: far dates, long intervals, JSON with thousands of levels. */
const isNarrow = (type: ColumnType): boolean =>
  isJson(type) || (/^(DATE$|TIMESTAMP|INTERVAL)/.test(type) && type !== 'TIMESTAMP_NS');

/**
 * PostgreSQL's expression of a cell of `row_store.input` with the type of its column; NULL for a value that PostgreSQL lacks, see {@link isNarrow}.
 * Nanoseconds are text. `prefix`: the schema with its dot.
 */
function postgresInput(prefix: string, index: number, type: ColumnType = TEXT): string {
  const cell = `input[${index + 1}]`;
  if (type === TEXT || type === 'TIMESTAMP_NS') return cell;
  if (type === 'BLOB') return `decode(${cell}, 'base64')`;
  const to = isJson(type) ? 'jsonb' : postgresType(type);
  if (!isNarrow(type)) return `${cell}::${to}`;
  const text = /^(DATE$|TIMESTAMP)/.test(type) ? `replace(${cell}, '(BC)', 'BC')` : cell;
  return `${prefix}searchflow_cell(${text}, NULL::${to})`;
}

/** Expression of a result column. `prefix`: the schema with its dot. */
export function resultOf({ from }: Pick<ResultColumn, 'from'>, prefix: string): string {
  if ('stored' in from) return from.stored;
  const source = from.of === 'row' ? 'row_part' : from.of;
  const path = 'count' in from ? from.count : from.path;
  const at = path.length === 0 ? source : `(${source} #> ${pathOf(path)})`;
  if ('count' in from) return `CASE WHEN json_typeof(${at}) = 'array' THEN json_array_length(${at})::bigint END`;
  switch (from.type) {
    case 'json':
      return at;
    case 'text':
      return textOf(at, prefix);
    case 'string':
      return `CASE WHEN error_message IS NULL OR json_typeof(${at}) = 'string' THEN ${textOf(at, prefix)} END`;
    case 'onlyText':
      return `CASE WHEN json_typeof(${at}) = 'string' THEN ${textOf(at, prefix)} END`;
    case 'structure':
      return `CASE WHEN json_typeof(${at}) NOT IN ('string', 'null') THEN ${at} END`;
    case 'array':
    case 'object':
      return `CASE WHEN json_typeof(${at}) = '${from.type}' THEN ${at} END`;
    default:
      return typed(`(${source} #>> ${pathOf(path)})`, from.type, prefix);
  }
}

/** The output of a shared run has a list of objects; this is the object that names the row. */
const rowPart = ` LEFT JOIN LATERAL (${partsOf('response', rowIdentity('row_hash'))} LIMIT 1) AS parts ON true`;

/** Query of the objects (`row_part`) that name this row in the output of a shared run. */
function partsOf(response: string, rowHash: string): string {
  const list = `${response} #> '{output,structured,${ROWS_FIELD}}'`;
  return `SELECT part AS row_part FROM json_array_elements(CASE WHEN json_typeof(${list}) = 'array' THEN ${list} ELSE '[]' END) part
  WHERE json_typeof(part) = 'object' AND part ->> '${ROW_ID_FIELD}' = ${rowHash}`;
}

/** A value of an answer as text. */
const textOf = (json: string, prefix: string): string => `${prefix}searchflow_text(${json})`;

/** A path as an array of texts; the path can contain any name. */
export function pathOf(path: Path): string {
  return `ARRAY[${path.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')}]::text[]`;
}

/** A text as a value of its type; NULL if the text does not fit. */
function typed(text: string, type: ValueType, prefix: string): string {
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
