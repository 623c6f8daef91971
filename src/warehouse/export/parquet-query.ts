import { type ColumnType, JSON_TYPE, TEXT } from '../../core/rows/column-type.js';
import { duckDbInput, resultSql } from '../rows/duckdb-result-sql.js';
import { dollarsOf } from '../rows/make-tables.js';
import { identifier } from '../shared/duckdb-quote.js';
import { viewColumns } from '../shared/view-columns.js';
import type { JobRows } from './job-rows.js';

/**
 * Query of the rows of `source` (see `JobRows.part`) in their order, with the unchanged columns of the job's view. JSON columns
 * are text here, because every reader supports text.
 */
export function parquetQuery(
  { columns, types, results: added }: Pick<JobRows, 'columns' | 'types' | 'results'>,
  source: string,
): string {
  const { own, results } = viewColumns(
    columns,
    added.map(({ name }) => name),
  );
  const { inner, shown } = resultSql(added, true);
  const all = [
    ...own.map((name, index) => `${plainInput(index, types?.[index])} AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  return `SELECT ${all.join(', ')} FROM (
      SELECT ${['*', `${dollarsOf('cost_micros')} AS cost_dollars`, ...inner].join(', ')} FROM (${source}) ORDER BY row_number)`;
}

const plainInput = (index: number, type: ColumnType = TEXT) => duckDbInput(index, type === JSON_TYPE ? TEXT : type);
