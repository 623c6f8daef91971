import { type ColumnType, isJson, TEXT } from '../../core/rows/column-type.js';
import { ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { TIME } from '../../core/text/value-forms.js';
import type { Dialect, Field } from '../dialect.js';
import { rowIdentity } from '../rows/duckdb-result-sql.js';
import type { Path, ResultColumn, ValueType } from '../rows/result-column.js';
import { mendForPostgres, withoutNul } from '../shared/mend-escapes.js';
import { postgresType } from '../shared/postgres-types.js';
import type { ColumnTypes } from '../shared/relation.js';
import { cutName } from '../shared/view-columns.js';

export const postgresTypes: ColumnTypes = {
  ...{ text: 'text', id: 'text', texts: 'text[]', boolean: 'boolean', number: 'double precision', json: 'json' },
  ...{ time: 'timestamptz', small: 'integer', integer: 'bigint', long: 'bigint', digest: 'bigint', parsed: 'jsonb' },
};

/** PostgreSQL's SQL. `prefix`: the schema with its dot. */
export function postgresDialect(prefix: string): Dialect {
  const reader = (what: 'time' | 'id') => (text: string) => `${prefix}searchflow_${what}(${text})`;
  const typedField = ({ type }: Field, text: string) =>
    type === 'id' ? reader(type)(text) : typed(text, type, prefix);
  return {
    types: postgresTypes,
    prefix,
    keys: true,
    suffix: () => '',
    rowId: 'id',
    keepsExact: true,
    now: () => 'now()',
    moment: (parameter) => `to_timestamp(CAST(${parameter} AS double precision) / 1000)`,
    millis: (time) => `CAST(extract(epoch FROM ${time}) * 1000 AS double precision)`,
    day: (time) => `CAST(${time} AT TIME ZONE 'UTC' AS date)`,
    text: (json, path) => `(${json} #>> '${jsonPath(path)}')`,
    json: mendForPostgres,
    plain: withoutNul,
    asJson: (relation) => `CAST(row_to_json(${relation}) AS text)`,
    sameText: (json, path) => textOf(`${json} #> ${pathOf(path)}`, prefix),
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
      const fields = columns.map(
        ({ name, type }) => `${name} ${type === 'time' ? 'bigint' : postgresTypes[type as keyof ColumnTypes]}`,
      );
      return `json_to_recordset(CAST(${parameter} AS json)) AS r(${fields.join(', ')})`;
    },
    read(relation, values, where) {
      const ofRow = values.some(({ from }) => 'of' in from && from.of === 'row');
      const condition = where === undefined ? '' : ` WHERE ${where}`;
      const shown = values.map((value) => resultOf(value, prefix));
      return { from: `${relation}${ofRow ? rowPart : ''}${condition}`, shown };
    },
    elements(from, o, path, item, position, outer) {
      const at = `(s.${o} #> ${pathOf(path)})`;
      const list = `json_array_elements(CASE WHEN json_typeof(${at}) = 'array' THEN ${at} ELSE '[]' END)`;
      return `SELECT s.*, l.${item}, l.${position} FROM (${from}) s
        ${outer ? 'LEFT' : 'INNER'} JOIN LATERAL ${list} WITH ORDINALITY AS l(${item}, ${position}) ON true`;
    },
    cell: (index, type) => postgresInput(prefix, index, type),
    isNarrow,
    maxColumns: 1600,
    namesInUse: `SELECT lower(relname) AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace`,
    columnsInUse: `SELECT c.relname AS table, a.attname AS column,
        replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') AS type,
        a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS demanding
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p', 'v')`,
    viewComment: `SELECT obj_description(oid, 'pg_class') AS comment FROM pg_class
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'v' AND relname = $1`,
    cut: cutName,
    id: reader('id'),
    time: reader('time'),
    withFields: (from, fields) =>
      `SELECT s.*, ${fields.map((field) => `${typedField(field, `(o #>> '${jsonPath(field.path)}')`)} AS ${field.name}`).join(', ')} FROM ${from} s`,
    withMembers: (from, names) =>
      `SELECT s.*, ${names.map((name) => `data -> '${name}' AS ${name}`).join(', ')} FROM ${from} s`,
    withObjects: (from, path) => {
      const star = path.indexOf('*');
      if (star < 0)
        return `SELECT s.*, ${path.length === 0 ? 'data' : `data #> '${jsonPath(path)}'`} AS o FROM ${from} s`;
      const list = `data #> '${jsonPath(path.slice(0, star))}'`;
      return `SELECT s.*, l.value #> '${jsonPath(path.slice(star + 1))}' AS o FROM ${from} s
        CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(${list}) = 'array' THEN ${list} ELSE '[]' END) l`;
    },
    newest: (from) =>
      `SELECT id, o, version_at, event_at, list_order, event_id, first_deleted AS deleted_at FROM (
       SELECT *, row_number() OVER (PARTITION BY id ORDER BY version_at DESC, event_at DESC, list_order DESC, event_id DESC) AS turn,
         min(deleted_at) OVER (PARTITION BY id) AS first_deleted FROM ${from} s) r WHERE turn = 1`,
    digest: (json) => `jsonb_hash_extended(${json}, 0)`,
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
function resultOf({ from }: Pick<ResultColumn, 'from'>, prefix: string): string {
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

const textOf = (json: string, prefix: string): string => `${prefix}searchflow_text(${json})`;

/** A path as an array of texts; the path can contain any name. */
function pathOf(path: Path): string {
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

/** Field names here are constants of this code, without characters to escape. */
function jsonPath(path: readonly string[]): string {
  return `{${path.join(',')}}`;
}
