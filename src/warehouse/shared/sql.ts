/** A parameter of a statement. A list of texts is an array; times are Unix ms, which {@link SqlDialect.moment} converts. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** Runs statements in one transaction. Parameters are `$1`, `$2`, … */
export interface SqlTransaction {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
}
