import { commentsOn } from '../shared/relation.js';
import { dollarsOf } from './make-tables.js';
import { firstColumns, type RelationColumn, type ResultRelation, resultRelations } from './result-relations.js';

export interface ResultValue {
  readonly o: string;
  readonly column: RelationColumn;
}

/** The SQL of one database for the views of results. `o` is an expression of JSON. */
export interface ResultDialect {
  /** The schema with its dot, or empty. */
  readonly prefix: string;
  /**
   * Query of `from` with the columns `plain` unchanged, then these values. Each value is read from its JSON column `o`, by type
   * and path.
   */
  read(from: string, plain: readonly string[], values: readonly ResultValue[]): string;
  /**
   * Query of `from` with a row for each element of the list at `path` of its JSON column `o`. The query has all columns of `from`, the
   * element as `item`, and the number of the element, from 1, as `position`. With `outer`, a row whose list is empty is kept; `item` and
   * `position` are NULL in this row.
   */
  elements(from: string, o: string, path: readonly string[], item: string, position: string, outer: boolean): string;
}

/**
 * Statements that create the views, with all comments. The views read the whole answers in `row_store`, so that nothing is
 * loaded twice, and a refreshed or vanished row changes at once in every view.
 */
export function makeResultViews(dialect: ResultDialect): string {
  return resultRelations.map((relation) => makeView(relation, dialect)).join('\n');
}

function makeView(relation: ResultRelation, dialect: ResultDialect): string {
  const { name, is, row, lists, columns, operation, keepsEmpty = false } = relation;
  const { prefix } = dialect;
  const items = ['response', ...lists.map((_, index) => `item_${index}`)];
  const from = lists.reduce(
    (query, { path }, index) =>
      dialect.elements(query, items[index] as string, path, `item_${index}`, `place_${index}`, keepsEmpty && index > 0),
    rowsOf(operation, prefix),
  );
  const values = columns
    .filter(({ type }) => type !== 'stored')
    .map((column) => ({ o: items[column.list === undefined ? lists.length : column.list + 1] as string, column }));
  const ofRow = columns.filter(({ type }) => type === 'stored').map((column) => column.name);
  const ranks = lists.map(({ rank }, index) => `place_${index} AS ${rank}`);
  const plain = firstColumns.map(([column]) => column);
  const described = [
    ...firstColumns,
    ...lists.map(({ rank, is: sentence }) => [rank, sentence] as const),
    ...columns.map((column) => [column.name, column.is] as const),
  ].map(([column, sentence]) => ({ name: column, type: 'other' as const, is: sentence }));
  return [
    `CREATE VIEW ${prefix}${name} AS\n${dialect.read(from, [...plain, ...ranks, ...ofRow], values)};`,
    commentsOn([{ kind: 'VIEW', name, is, row, columns: described }], prefix),
  ].join('\n');
}

/** Query of the rows that have an answer and are in the current input of their job. */
function rowsOf(operation: string, prefix: string): string {
  return `SELECT job, origin, row_number, response, error_message, request_id, ${dollarsOf('cost_micros')} AS cost_dollars, fetched_at
  FROM ${prefix}row_store WHERE vanished_at IS NULL AND response IS NOT NULL
    AND job IN (SELECT job FROM ${prefix}searchflow_jobs WHERE operation = '${operation}')`;
}
