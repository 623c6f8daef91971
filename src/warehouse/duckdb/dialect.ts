import type { Dialect, Field } from '../dialect.js';
import { duckDbInput, resultSql, rowPart } from '../rows/duckdb-result-sql.js';
import { literal } from '../shared/duckdb-quote.js';
import { mendSurrogates, withoutHalves } from '../shared/mend-escapes.js';
import type { ColumnTypes, RelationColumn } from '../shared/relation.js';
import { shortIdSql } from '../shared/short-id.js';
import { typedValue } from '../shared/typed-value.js';

const pathOf = (path: readonly string[]) => `'${jsonPath(path)}'`;
const text = (json: string, path: readonly string[]) => `json_extract_string(${json}, ${pathOf(path)})`;

export const duckDbDialect: Dialect = {
  types: {
    ...{ text: 'VARCHAR', id: 'VARCHAR', texts: 'VARCHAR[]', boolean: 'BOOLEAN', number: 'DOUBLE', time: 'TIMESTAMP' },
    ...{ small: 'INTEGER', integer: 'BIGINT', long: 'BIGINT', digest: 'UBIGINT', json: 'JSON', parsed: 'JSON' },
  },
  moment: (parameter) => `make_timestamp_ms(CAST(${parameter} AS BIGINT))`,
  millis: (time) => `CAST(epoch_ms(${time}) AS DOUBLE)`,
  day: (time) => `CAST(${time} AS DATE)`,
  prefix: '',
  // Anti-join and append is faster than keys, so only small tables have keys.
  keys: false,
  suffix: compressionOf,
  rowId: 'rowid',
  keepsExact: false,
  now: () => `make_timestamp_ms(${Date.now()})`,
  text,
  sameText: text,
  json: mendSurrogates,
  plain: withoutHalves,
  asJson: (relation) => `CAST(to_json(${relation}) AS VARCHAR)`,
  isText: (json, path) => `json_type(${json}, ${pathOf(path)}) = 'VARCHAR'`,
  among: (number, query) => `${number} IN (${query})`,
  emptied: (list) => `list_resize(CAST([] AS VARCHAR[]), len(${list}))`,
  // One expression reads all fields, because a separate expression for each field would parse the result again.
  withFacts: (from, names) =>
    `SELECT * EXCLUDE (facts), ${names.map((name, index) => `facts[${index + 1}] AS "fact_${name}"`).join(', ')}
     FROM (SELECT *, json_extract_string(result, [${names.map((name) => pathOf([name])).join(', ')}]) AS facts FROM ${from} s) t`,
  namesRow: (response, rowHash) => `(${rowPart(response, rowHash)} IS NOT NULL)`,
  records: (parameter, columns) => {
    const fields = columns.map(({ name, type }) => [
      name,
      type === 'texts' ? ['VARCHAR'] : type === 'time' ? 'BIGINT' : duckDbDialect.types[type as keyof ColumnTypes],
    ]);
    const shape = literal(JSON.stringify([Object.fromEntries(fields)]));
    return `(SELECT unnest(from_json(CAST(${parameter} AS JSON), ${shape}), max_depth := 2)) AS r`;
  },
  read(relation, values, where) {
    const { inner, shown } = resultSql(values, false);
    const condition = where === undefined ? '' : ` WHERE ${where}`;
    return { from: `(SELECT ${['*', ...inner].join(', ')} FROM ${relation}${condition})`, shown };
  },
  elements(from, o, path, item, position, outer) {
    const list = `json_extract(${o}, '$.${path.join('.')}[*]')`;
    const whole = outer ? `CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END` : list;
    const numbers = outer
      ? `CASE WHEN len(${list}) > 0 THEN range(1, len(${list}) + 1) ELSE [NULL] END`
      : `range(1, len(${list}) + 1)`;
    return `SELECT *, unnest(${whole}) AS ${item}, unnest(${numbers}) AS ${position} FROM (${from}) s`;
  },
  cell: duckDbInput,
  // The readers of inputs choose types that hold all values.
  isNarrow: () => false,
  maxColumns: Number.POSITIVE_INFINITY,
  namesInUse: `SELECT lower(table_name) AS name FROM duckdb_tables()
    UNION SELECT lower(view_name) FROM duckdb_views() WHERE NOT internal OR schema_name = 'main'`,
  columnsInUse: `SELECT table_name AS "table", column_name AS "column", data_type AS type, NOT is_nullable AND column_default IS NULL AS demanding
    FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()`,
  viewComment: `SELECT comment FROM duckdb_views() WHERE NOT internal AND view_name = $1`,
  cut: (name, suffix) => `${name}${suffix}`,
  id: (text) => shortIdSql(text, `sha256(${text})`),
  time: (text) => typedValue(text, 'time'),
  withFields: (from, fields) =>
    // One expression reads all fields, because a separate expression for each field would parse the object again.
    `SELECT * EXCLUDE (facts), ${fields.map((field, index) => `${typed(field, `facts[${index + 1}]`)} AS ${field.name}`).join(', ')}
     FROM (SELECT *, json_extract_string(o, [${fields.map(({ path }) => `'${jsonPath(path)}'`).join(', ')}]) AS facts FROM ${from} s) t`,
  withMembers: (from, names) =>
    `SELECT * EXCLUDE (members), ${names.map((name, index) => `members[${index + 1}] AS ${name}`).join(', ')}
     FROM (SELECT *, json_extract(data, [${names.map((name) => `'${jsonPath([name])}'`).join(', ')}]) AS members FROM ${from} s) t`,
  withObjects: (from, path) => {
    if (path.length === 0) return `SELECT *, data AS o FROM ${from} s`;
    return path.includes('*')
      ? `SELECT *, unnest(json_extract(data, '${jsonPath(path)}')) AS o FROM ${from} s`
      : `SELECT *, json_extract(data, '${jsonPath(path)}') AS o FROM ${from} s`;
  },
  // `max` compares structs field by field. A window function would take twice as long.
  newest: (from) =>
    `SELECT id, v.o AS o, v.version_at AS version_at, v.event_at AS event_at, v.list_order AS list_order, v.event_id AS event_id, deleted_at FROM (
       SELECT id, max({'version_at': version_at, 'event_at': event_at, 'list_order': list_order, 'event_id': event_id, 'o': o}) AS v,
         min(deleted_at) AS deleted_at FROM ${from} s GROUP BY id) r`,
  digest: (json) => `hash(${json})`,
};

const typed = ({ type }: Field, text: string): string =>
  type === 'id' ? duckDbDialect.id(text) : typedValue(text, type);

/**
 * Compression of text columns by name. DuckDB's own trials took a tenth of the CPU of loads of events and a third of rows, and without zstd
 * files were three times as large.
 */
export const compressions: Readonly<Record<string, readonly string[]>> = {
  zstd: ['data', 'extra', 'response'],
  // Nearly every row has a different value in these columns.
  uncompressed: ['id', 'event_id', 'object_id', 'item_id', 'external_id', 'url', 'row_hash', 'unit_key'],
  // Many rows have the same value in these columns.
  dictionary: [
    ...['type', 'payload', 'origin', 'webset_id', 'source_id', 'enrichment_id', 'monitor_id'],
    ...['job', 'generation', 'error_tag', 'request_id'],
    ...['status', 'source', 'format', 'entity_type', 'behavior', 'cron', 'timezone'],
  ],
};

/** Returns the suffix of a column's type in CREATE TABLE; empty where DuckDB chooses the compression. */
function compressionOf({ name }: RelationColumn): string {
  const method = Object.keys(compressions).find((one) => compressions[one]?.includes(name));
  return method ? ` USING COMPRESSION '${method}'` : '';
}

/** Field names here are constants of this code, without characters to escape. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => (name === '*' || /^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join('')}`;
}
