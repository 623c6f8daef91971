import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type { Transaction } from '../dialect.js';
import type { Relation } from '../shared/relation.js';

/**
 * Writes the freshness rules into a temporary table `freshness` of one row, which the SQL of {@link stale} reads. Missing bodies
 * (`rebuyBefore`) concern only the journal: every answer in the warehouse has its body.
 */
export async function useFreshness(tx: Transaction, freshness: RetryFreshness = {}): Promise<void> {
  const { freshAfter = null, retryTags = [], retryBefore = null, onlyMarked = false } = freshness;
  const { moment } = tx.dialect;
  await tx.createTemp(
    'freshness',
    `SELECT ${moment('$1')} AS fresh_after, CAST($2 AS text[]) AS retry_tags, ${moment('$3')} AS retry_before,
         CAST($4 AS boolean) AS only_marked`,
    [freshAfter, retryTags, retryBefore, onlyMarked],
  );
}

const retried = `e.status = 'error' AND e.fetched_at < f.retry_before AND e.error_tag = ANY(f.retry_tags)`;
/** Condition: the unit of the row has a mark in its job. It is the key of the table, so PostgreSQL looks it up row by row. */
const marked = (mark: string) =>
  `EXISTS (SELECT 1 FROM row_marks m WHERE m.job = e.job AND m.subject = e.unit_key AND m.mark = '${mark}')`;

/** Condition: the row (alias `e`) of the job `$1` is in the current input, with an answer to its current options. */
export const currentRow = `e.job = $1 AND e.row_number IS NOT NULL AND e.vanished_at IS NULL AND e.outdated_at IS NULL`;

/** Condition: the answer in a row of `row_store` (alias `e`) is stale. A forgotten unit is never bought again. */
export const stale = `(e.unit_key IS NOT NULL AND e.error_tag IS DISTINCT FROM '${FORGOTTEN}' AND (
    EXISTS (SELECT 1 FROM freshness f WHERE e.fetched_at < f.fresh_after)
    OR (EXISTS (SELECT 1 FROM freshness f WHERE ${retried} AND NOT f.only_marked) AND NOT ${marked('discarded')})
    OR (EXISTS (SELECT 1 FROM freshness f WHERE ${retried} AND f.only_marked) AND ${marked('retry')})))`;

/**
 * Returns an expression `value` of the mark (alias `m`) that a row (alias `e`) has; NULL without a mark that meets the condition. `subject`: what
 * the mark is for. A scalar subquery is looked up by the key of the table, row by row. PostgreSQL might turn a join into a loop over all
 * rows of the job for each mark, because it has no statistics of new marks.
 */
export const markOf = (subject: string, condition: string, value: string): string =>
  `(SELECT ${value} FROM row_marks m WHERE m.job = e.job AND m.subject = ${subject} AND ${condition})`;

/** What a mark is for: rows with the same unit share its answer, and a bad row has no unit. */
export const subjectOf = (alias: string): string => `coalesce(${alias}.unit_key, ${alias}.row_hash)`;

/**
 * Condition: the row (alias `e`) of the job `$1` does not count as failed, because a person discarded or forgot it.
 */
export const discardedRow = `(e.error_tag IS NOT DISTINCT FROM '${FORGOTTEN}'
  OR ${subjectOf('e')} IN (SELECT m.subject FROM row_marks m WHERE m.job = $1 AND m.mark = 'discarded'))`;

/** Query of the texts of a list in a parameter. */
export const textsOf = (parameter: string): string => `SELECT unnest(CAST(${parameter} AS text[]))`;

/** Some rows of a job: a temporary table with their numbers, the lowest and the highest of these, and how many there are. */
export type NumberedRows = Record<'rows' | 'first' | 'last', number> & { readonly table: string };

/** The columns of a query that counts such rows. */
export const countedRows = `CAST(count(*) AS double precision) AS rows, CAST(coalesce(min(n), 0) AS double precision) AS first,
  CAST(coalesce(max(n), 0) AS double precision) AS last`;

/** Condition: the number of the row is one of these rows. With the range, the database reads no other part of the job. */
export function numbersOf({ dialect }: Transaction, { table, rows, first, last }: NumberedRows): string {
  const range = `row_number BETWEEN ${first} AND ${last}`;
  return rows === last - first + 1 ? range : `${range} AND ${dialect.among('row_number', `SELECT n FROM ${table}`)}`;
}

/** Statement that inserts the rows of a query. `values`: the expression of each column; null for a column that this database lacks. */
export function insertInto(table: string, values: Readonly<Record<string, string | null>>, from: string): string {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  const [names, expressions] = [0, 1].map((at) => known.map((entry) => entry[at]).join(', '));
  return `INSERT INTO ${table} (${names}) SELECT ${expressions} ${from}`;
}

/** Expressions of the columns of a table, from a JSON list of records whose fields have the names of the columns. */
export function recordsOf({ dialect }: Transaction, table: Relation, without: readonly string[] = []) {
  const columns = table.columns.filter(({ name }) => !without.includes(name));
  const values = columns.map(({ name, type }) => {
    const value = `r.${name}`;
    return [name, type === 'time' ? dialect.moment(value) : type === 'id' ? dialect.id(value) : value];
  });
  return {
    values: Object.fromEntries(values) as Record<string, string>,
    from: `FROM ${dialect.records('$1', columns)}`,
  };
}

/** Expressions of the cells of a row, without the values of a forgotten unit. `tag`: the error tag of the row's answer. */
export function withoutForgotten(
  { dialect }: Pick<Transaction, 'dialect'>,
  tag: string,
  { url, input, row_exact }: Readonly<Record<'url' | 'input' | 'row_exact', string>>,
): Readonly<Record<'url' | 'input' | 'row_exact', string | null>> {
  const isForgotten = `${tag} IS NOT DISTINCT FROM '${FORGOTTEN}'`;
  return {
    url: `CASE WHEN ${isForgotten} THEN NULL ELSE ${url} END`,
    input: `CASE WHEN ${isForgotten} THEN ${dialect.emptied(input)} ELSE ${input} END`,
    row_exact: dialect.keepsExact ? `CASE WHEN ${isForgotten} THEN NULL ELSE ${row_exact} END` : null,
  };
}
