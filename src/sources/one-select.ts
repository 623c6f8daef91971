import type { DuckDBConnection } from '@duckdb/node-api';
import { CsvError } from '../rows/index.js';

/** The facts of a statement, as DuckDB parses it. */
interface Parsed {
  readonly error: boolean;
  readonly error_type?: string;
  readonly error_message?: string;
  readonly statements?: readonly {
    readonly node: { readonly type: string; readonly modifiers?: readonly { readonly type: string }[] };
  }[];
}

/** Checks that a text is one SELECT statement. Returns whether its rows are ordered. Throws `CsvError`, one sentence, for other texts. */
export async function checkSelect(connection: DuckDBConnection, sql: string): Promise<{ readonly isOrdered: boolean }> {
  const result = await connection.runAndReadAll('SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)', [
    sql,
  ]);
  const { error, error_type, error_message, statements = [] } = JSON.parse(String(result.getRows()[0]?.[0])) as Parsed;
  if (error && error_type === 'parser') throw new CsvError('sql-invalid', `The SQL is not valid: ${error_message}`);
  if (error)
    throw new CsvError(
      'sql-not-allowed',
      'The SQL must be one SELECT: it may read tables and views, and change nothing',
    );
  if (statements.length !== 1) {
    const found = statements.length === 0 ? 'no statement' : `${statements.length} statements`;
    throw new CsvError('sql-not-allowed', `The SQL must be one SELECT, and it has ${found}`);
  }
  return { isOrdered: statements[0]?.node.modifiers?.some(({ type }) => type === 'ORDER_MODIFIER') ?? false };
}
