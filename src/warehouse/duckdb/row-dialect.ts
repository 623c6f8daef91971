import { duckDbInput, resultSql, rowPart } from '../rows/duckdb-result-sql.js';
import type { RowDialect } from '../rows/row-sql.js';
import { literal } from '../shared/duckdb-quote.js';
import type { ColumnTypes } from '../shared/relation.js';
import { duckDbSql, jsonPath } from './sql-dialect.js';

/** Types of the fields of records. */
const recordTypes: ColumnTypes = { ...duckDbSql.types, time: duckDbSql.types.long };

const pathOf = (path: readonly string[]) => `'${jsonPath(path)}'`;

/** The statements for rows in DuckDB's SQL. */
export const duckDbRowDialect: RowDialect = {
  ...duckDbSql,
  prefix: '',
  id: 'rowid',
  keepsExact: false,
  now: () => `make_timestamp_ms(${Date.now()})`,
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
      type === 'texts' ? ['VARCHAR'] : recordTypes[type as keyof ColumnTypes],
    ]);
    const shape = literal(JSON.stringify([Object.fromEntries(fields)]));
    return `(SELECT unnest(from_json(CAST(${parameter} AS JSON), ${shape}), max_depth := 2)) AS r`;
  },
  view: {
    maxColumns: Number.POSITIVE_INFINITY,
    namesInUse: `SELECT lower(table_name) AS name FROM duckdb_tables()
      UNION SELECT lower(view_name) FROM duckdb_views() WHERE NOT internal OR schema_name = 'main'`,
    columnsOf: null,
    cut: (name, suffix) => `${name}${suffix}`,
    input: duckDbInput,
    // The readers of inputs choose types that hold all values.
    isNarrow: () => false,
    read(columns, where) {
      const { inner, shown } = resultSql(columns, false);
      return { from: `(SELECT ${['*', ...inner].join(', ')} FROM enriched_rows WHERE ${where})`, shown };
    },
  },
};
