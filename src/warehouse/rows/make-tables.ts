import { commentsOn, createTable, type Relation, type TableStyle } from '../shared/relation.js';
import type { RowDialect } from './row-sql.js';
import { rowTables, rowViews } from './row-tables.js';

/** Statements that create the tables and views for rows in an empty database, with all comments. `more`: tables of this database only. */
export function makeRowTables(dialect: RowDialect, style: TableStyle, more: readonly Relation[] = []): string {
  const { prefix, keepsExact } = dialect;
  const tables = [...rowTables(keepsExact), ...more];
  return [
    ...tables.map((table) => createTable(table, style)),
    `${enrichedRows(dialect)};`,
    `${spendView(dialect)};`,
    commentsOn([...tables, ...rowViews(keepsExact)], prefix),
  ].join('\n');
}

/** The view `enriched_rows`: all columns of the rows, and fields of their responses after the columns for facts. */
function enrichedRows({ prefix, keepsExact, text, isText }: RowDialect): string {
  // A field is read only if it is a text; see `ValueType`.
  const onlyText = (name: string) =>
    `CASE WHEN error_message IS NULL OR ${isText('response', [name])} THEN ${text('response', [name])} END AS ${name}`;
  const before: Readonly<Record<string, readonly string[]>> = {
    response: [onlyText('text'), `response -> 'highlights' AS highlights`, onlyText('summary')],
    fetched_at: [`${dollarsOf('cost_micros')} AS cost_dollars`],
  };
  const [, rows] = rowTables(keepsExact) as readonly [Relation, Relation];
  const all = rows.columns.flatMap(({ name }) => [...(before[name] ?? []), name]);
  return `CREATE VIEW ${prefix}enriched_rows AS\nSELECT ${all.join(', ')}\nFROM ${prefix}row_store\nWHERE vanished_at IS NULL OR outdated_at IS NULL OR length(row_hash) = 16`;
}

/**
 * Converts micro-dollars to exact dollars, in SQL that both databases accept. A division would give a double in one of the
 * databases.
 */
export function dollarsOf(micros: string): string {
  return `CAST(CAST(${micros} AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6))`;
}

/**
 * The view `spend`, in SQL that both databases accept. Several rows, perhaps of several jobs, may share an answer; the cost of
 * the answer counts for the row that was loaded first.
 */
function spendView({ day, prefix }: RowDialect): string {
  return `CREATE VIEW ${prefix}spend AS
SELECT day, job, operation, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(rows) AS BIGINT) AS rows,
  ${dollarsOf('sum(micros)')} AS dollars, CAST(sum(unknown) AS BIGINT) AS unknown_outcomes,
  ${dollarsOf('sum(unknown_micros)')} AS unknown_dollars
FROM (
  SELECT a.day, a.job, j.operation, count(DISTINCT CASE WHEN a.turn = 1 THEN a.request_id END) AS requests,
    count(*) AS rows, sum(CASE WHEN a.turn = 1 THEN a.micros ELSE 0 END) AS micros, 0 AS unknown, 0 AS unknown_micros
  FROM (
    SELECT job, request_id, ${day('fetched_at')} AS day,
      max(cost_micros) OVER (PARTITION BY unit_key, fetched_at) AS micros,
      row_number() OVER (PARTITION BY unit_key, fetched_at ORDER BY loaded_at, job) AS turn
    FROM ${prefix}row_store WHERE unit_key IS NOT NULL) a
  JOIN ${prefix}searchflow_jobs j ON j.job = a.job
  GROUP BY a.day, a.job, j.operation
  UNION ALL
  SELECT ${day('intended_at')}, job, operation, 0, 0, 0, count(*), sum(estimate_micros)
  FROM ${prefix}unknown_outcomes GROUP BY 1, 2, 3) s
GROUP BY day, job, operation`;
}
