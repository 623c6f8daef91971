import { type ColumnType, isJson, TEXT } from '../../../core/rows/column-type.js';

/** The types of PostgreSQL that hold all values of DuckDB's types. */
const types: Readonly<Record<string, string>> = {
  ...{ BOOLEAN: 'boolean', TINYINT: 'smallint', SMALLINT: 'smallint', INTEGER: 'integer', BIGINT: 'bigint' },
  ...{ UTINYINT: 'smallint', USMALLINT: 'integer', UINTEGER: 'bigint', UBIGINT: 'numeric(20,0)' },
  ...{ HUGEINT: 'numeric(39,0)', UHUGEINT: 'numeric(39,0)', FLOAT: 'real', DOUBLE: 'double precision' },
  ...{ DATE: 'date', TIME: 'time', TIMESTAMP: 'timestamp', TIMESTAMP_S: 'timestamp', TIMESTAMP_MS: 'timestamp' },
  ...{ TIMESTAMP_NS: 'timestamp', 'TIMESTAMP WITH TIME ZONE': 'timestamptz', INTERVAL: 'interval', UUID: 'uuid' },
};

/**
 * PostgreSQL's expression of a cell of `row_store.input` with the type of its column. PostgreSQL has no cast that gives NULL, so texts that it
 * cannot hold are NULL or changed first: an escaped NUL or half a surrogate pair in JSON, and the era of a date.
 */
export function postgresInput(index: number, type: ColumnType = TEXT): string {
  const cell = `input[${index + 1}]`;
  if (type === TEXT) return cell;
  if (type === 'BLOB') return `decode(${cell}, 'base64')`;
  if (isJson(type)) return `CASE WHEN ${cell} !~ '\\\\u(0000|[dD][89a-fA-F])' THEN ${cell}::jsonb END`;
  const to = types[type] ?? type.replace('DECIMAL', 'numeric');
  return /^(DATE|TIMESTAMP)/.test(type) ? `replace(${cell}, '(BC)', 'BC')::${to}` : `${cell}::${to}`;
}
