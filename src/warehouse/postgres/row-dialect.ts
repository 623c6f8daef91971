import { type ColumnType, isJson, TEXT } from '../../core/rows/column-type.js';
import type { RowDialect } from '../rows/row-sql.js';
import { cutName } from '../shared/cut-name.js';
import { postgresType } from '../shared/postgres-types.js';
import type { ColumnTypes } from '../shared/relation.js';
import { partsOf, pathOf, resultSql, textOf } from './result-sql.js';
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
        const { from, shown } = resultSql(columns, prefix);
        return { from: `${from} WHERE ${where}`, shown };
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
