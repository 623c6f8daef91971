import type { ColumnTypes } from './relation.js';

/** A parameter of a statement. A list of texts is an array; times are Unix ms, which {@link SqlDialect.moment} converts. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** Runs statements in one transaction. Parameters are `$1`, `$2`, … */
export interface SqlTransaction<Dialect extends SqlDialect = SqlDialect> {
  readonly dialect: Dialect;
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Creates a temporary table with the rows of a query, and drops the table when the transaction ends. */
  createTemp(name: string, query: string, values?: readonly SqlValue[]): Promise<void>;
}

/** The SQL of one database. Arguments and results are SQL expressions, unless they say otherwise. */
export interface SqlDialect {
  readonly types: ColumnTypes;
  /** A time from a parameter in Unix ms. */
  moment(parameter: string): string;
  /** Unix ms of a time, as a number. */
  millis(time: string): string;
  /** The UTC day of a time. */
  day(time: string): string;
  /** A field of a JSON object as text. */
  text(json: string, path: readonly string[]): string;
  /** A JSON text in a form that the database can hold. Not an expression. */
  json(text: string): string;
  /** A text in a form that the database can hold. Not an expression. */
  plain(text: string): string;
  /** A row of a relation as a JSON text, with the names of its columns. Argument: the alias of the relation. */
  asJson(relation: string): string;
  /** Query with one row for each text; the parameter is a JSON list of texts. */
  texts(parameter: string): string;
}
