import { resultSql } from '../rows/duckdb-result-sql.js';
import { dollarsOf } from '../rows/make-tables.js';
import type { ResultColumn } from '../rows/result-column.js';
import { identifier } from '../shared/duckdb-quote.js';
import { viewColumns } from '../shared/view-columns.js';

/**
 * Query of the rows of `source` (see `JobRows.part`) in their order, with the unchanged columns of the job's view. JSON columns
 * are text here, because every reader supports text.
 */
export function parquetQuery(columns: readonly string[], added: readonly ResultColumn[], source: string): string {
  const { own, results } = viewColumns(
    columns,
    added.map(({ name }) => name),
  );
  const { inner, shown } = resultSql(added, true);
  const all = [
    ...own.map((name, index) => `input[${index + 1}] AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  return `SELECT ${all.join(', ')} FROM (
      SELECT ${['*', `${dollarsOf('cost_micros')} AS cost_dollars`, ...inner].join(', ')} FROM (${source}) ORDER BY row_number)`;
}
