import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type { ColumnType } from '../../core/rows/column-type.js';
import type { RowMarks } from '../../core/rows/row-warehouse.js';
import type { Relation, RelationColumn } from '../shared/relation.js';
import type { SqlDialect, SqlTransaction } from '../shared/sql.js';
import type { ResultColumn } from './result-column.js';

/** The SQL of one database in the statements for rows. */
export interface RowDialect extends SqlDialect {
  /** The schema with its dot, or empty. */
  readonly prefix: string;
  /** Column that identifies a row of `row_store`. */
  readonly id: string;
  /**
   * Whether `row_store` has the columns `row_exact` and `answer_exact`, because the texts of this database cannot hold every character.
   * Then staged rows have a column `row_exact`, and unit records a column
   * `exact`.
   */
  readonly keepsExact: boolean;
  /** The current time. */
  now(): string;
  /** Condition: a number is one of those that a query returns. */
  among(number: string, query: string): string;
  /** A list of texts with as many NULLs as a list has texts. */
  emptied(list: string): string;
  /** Condition: the field of a JSON object is a text. */
  isText(json: string, path: readonly string[]): string;
  /** Query that adds fields of the JSON column `result` to each row of `from`, as texts in the columns `fact_…`. */
  withFacts(from: string, names: readonly string[]): string;
  /** Condition: the answer of a shared run has an object that names the row. */
  namesRow(response: string, rowHash: string): string;
  /** Relation `r` with a row for each object of the JSON list in the parameter, and these columns. Times are Unix ms. */
  records(parameter: string, columns: readonly RelationColumn[]): string;
  readonly view: ViewDialect;
}

/** The view of a job in the SQL of one database. */
interface ViewDialect {
  readonly maxColumns: number;
  /** Query of the names of tables and views, in lower case, as `name`. */
  readonly namesInUse: string;
  /** Query of the column names of the view `$1`, in order, as `name`. Null if a view is always created again. */
  readonly columnsOf: string | null;
  /** A name with its suffix, cut to the limit of the database. Not an expression. */
  cut(name: string, suffix: string): string;
  /** Expression of a cell of `input` with the type of its column; absent: text. */
  input(index: number, type?: ColumnType): string;
  /** Whether the expression is NULL for some values of the type, which are then misfits. */
  isNarrow(type: ColumnType): boolean;
  /** Reads result columns from the rows of `enriched_rows` that meet the condition: the source, and an expression for each column. */
  read(columns: readonly ResultColumn[], where: string): { readonly from: string; readonly shown: readonly string[] };
}

/** What a lock protects: the row numbers of a job, one slice of a job, or the names of views. */
export type RowLock = { readonly job: string; readonly slice?: number } | 'names';

/** A transaction for rows, with the access to staged files that each database has in its own way. */
export interface RowTransaction extends SqlTransaction<RowDialect> {
  /** Waits for the lock, and holds the lock until the transaction ends. */
  lock(lock: RowLock): Promise<void>;
  /**
   * Runs `work` with relations that together have the staged rows of these files: the fields of `StagedRow`, and `slice`, the index of the
   * file. A relation is valid until `work` returns. Without `cells`, only the fields `n`, `h`, `k`, `e` and `m` are needed.
   */
  readRows(files: readonly string[], cells: boolean, work: (rows: string) => Promise<void>): Promise<void>;
  /**
   * Runs `work` with relations that together have the unit records in these files. A relation is valid until `work` returns. Lines that the
   * database cannot read are left out, or fail. With `careful`, lines that are not JSON are left out, and the others are repaired.
   */
  readUnits(files: readonly string[], careful: boolean, work: (units: string) => Promise<void>): Promise<void>;
}

/** Purpose of a transaction. `read` needs only an existing warehouse and the right to read. */
export type Purpose = 'read' | 'write';

/** A database as the store of rows needs it. */
export interface RowDatabase {
  readonly dialect: RowDialect;
  /** Creates missing tables, and checks that existing tables are unchanged. */
  make(): Promise<void>;
  /** `longest`: bytes of the longest line that is read, if this may be more than usual. */
  transaction<T>(purpose: Purpose, work: (tx: RowTransaction) => Promise<T>, longest?: number): Promise<T>;
  /** See `RowMarks.purgeForgotten`; the warehouse exists. */
  readonly purge: RowMarks['purgeForgotten'];
}

/**
 * Writes the freshness rules into a temporary table `freshness` of one row, which the SQL of {@link stale} reads. Missing bodies
 * (`rebuyBefore`) concern only the journal: every answer in the warehouse has its body.
 */
export async function useFreshness(tx: RowTransaction, freshness: RetryFreshness = {}): Promise<void> {
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

/** Statement that inserts the rows of a query. `values`: the expression of each column; null for a column that this database lacks. */
export function insertInto(table: string, values: Readonly<Record<string, string | null>>, from: string): string {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  const [names, expressions] = [0, 1].map((at) => known.map((entry) => entry[at]).join(', '));
  return `INSERT INTO ${table} (${names}) SELECT ${expressions} ${from}`;
}

/** Expressions of the columns of a table, from a JSON list of records whose fields have the names of the columns. */
export function recordsOf({ dialect }: RowTransaction, table: Relation, without: readonly string[] = []) {
  const columns = table.columns.filter(({ name }) => !without.includes(name));
  const values = columns.map(({ name, type }) => [name, type === 'time' ? dialect.moment(`r.${name}`) : `r.${name}`]);
  return {
    values: Object.fromEntries(values) as Record<string, string>,
    from: `FROM ${dialect.records('$1', columns)}`,
  };
}

/** Expressions of the cells of a row, without the values of a forgotten unit. `tag`: the error tag of the row's answer. */
export function withoutForgotten(
  { dialect }: Pick<RowTransaction, 'dialect'>,
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
