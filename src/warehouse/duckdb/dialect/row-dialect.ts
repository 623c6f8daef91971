import { resultSql, rowPart } from '../../rows/duckdb-result-sql.js';
import type { RowDialect } from '../../rows/row-sql.js';
import { literal } from '../../shared/duckdb-quote.js';
import { mendSurrogates } from '../../shared/mend-escapes.js';
import { duckDbDialect } from './event-dialect.js';

const types = {
  ...{ text: 'VARCHAR', texts: 'VARCHAR[]', boolean: 'BOOLEAN', small: 'INTEGER', long: 'BIGINT' },
  ...{ time: 'TIMESTAMP', json: 'JSON', parsed: 'JSON' },
} as const;

const pointer = (path: readonly string[]) => literal(`$.${path.join('.')}`);

/** The statements for rows in DuckDB's SQL. */
export const duckDbRowDialect: RowDialect = {
  types,
  prefix: '',
  id: 'rowid',
  keepsExact: false,
  now: () => `make_timestamp_ms(${Date.now()})`,
  moment: duckDbDialect.moment,
  millis: duckDbDialect.millis,
  temp: duckDbDialect.temp,
  text: duckDbDialect.text,
  isText: (json, path) => `json_type(${json}, ${pointer(path)}) = 'VARCHAR'`,
  // One expression reads all fields, because a separate expression for each field would parse the result again.
  withFacts: (from, names) =>
    `SELECT * EXCLUDE (facts), ${names.map((name, index) => `facts[${index + 1}] AS "fact_${name}"`).join(', ')}
     FROM (SELECT *, json_extract_string(result, [${names.map((name) => pointer([name])).join(', ')}]) AS facts FROM ${from} s) t`,
  namesRow: (response, rowHash) => `(${rowPart(response, rowHash)} IS NOT NULL)`,
  records: (parameter, columns) => {
    const fields = columns.map(({ name, type }) => [name, type === 'texts' ? ['VARCHAR'] : typeOf(type)]);
    const shape = literal(JSON.stringify([Object.fromEntries(fields)]));
    return `(SELECT unnest(from_json(CAST(${parameter} AS JSON), ${shape}), max_depth := 2)) AS r`;
  },
  json: mendSurrogates,
  view: {
    maxColumns: Number.POSITIVE_INFINITY,
    namesInUse: `SELECT lower(table_name) AS name FROM duckdb_tables()
      UNION SELECT lower(view_name) FROM duckdb_views() WHERE NOT internal OR schema_name = 'main'`,
    columnsOf: null,
    cut: (name, suffix) => `${name}${suffix}`,
    read(columns, where) {
      const { inner, shown } = resultSql(columns, false);
      return { from: `(SELECT ${['*', ...inner].join(', ')} FROM enriched_rows WHERE ${where})`, shown };
    },
  },
};

function typeOf(type: string): string {
  return type === 'time' ? types.long : types[type as keyof typeof types];
}
