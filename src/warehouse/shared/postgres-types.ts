/** PostgreSQL's types that hold all values of DuckDB's types, as PostgreSQL names them. */
const types: Readonly<Record<string, string>> = {
  ...{ BOOLEAN: 'boolean', TINYINT: 'smallint', SMALLINT: 'smallint', INTEGER: 'integer', BIGINT: 'bigint' },
  ...{ UTINYINT: 'smallint', USMALLINT: 'integer', UINTEGER: 'bigint', UBIGINT: 'numeric(20,0)' },
  ...{ HUGEINT: 'numeric(39,0)', UHUGEINT: 'numeric(39,0)', FLOAT: 'real', DOUBLE: 'double precision' },
  ...{ DATE: 'date', TIME: 'time without time zone', TIMESTAMP: 'timestamp without time zone', BLOB: 'bytea' },
  ...{ TIMESTAMP_S: 'timestamp without time zone', TIMESTAMP_MS: 'timestamp without time zone' },
  ...{ TIMESTAMP_NS: 'timestamp without time zone', 'TIMESTAMP WITH TIME ZONE': 'timestamp with time zone' },
  ...{ INTERVAL: 'interval', UUID: 'uuid' },
};

/** The type of PostgreSQL for a type of DuckDB without parts; `text` for types that PostgreSQL lacks. */
export const postgresType = (type: string): string =>
  types[type] ?? (type.startsWith('DECIMAL') ? type.replace('DECIMAL', 'numeric') : 'text');
