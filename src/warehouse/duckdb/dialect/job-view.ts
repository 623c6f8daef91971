import type { DuckDBConnection } from '@duckdb/node-api';
import type { ResultColumn } from '../../rows/result-column.js';
import { identifier, literal } from '../../shared/duckdb-quote.js';
import { resultSql } from '../../shared/duckdb-result-sql.js';
import { freeName } from '../../shared/free-name.js';
import { viewColumns } from '../../shared/view-columns.js';

/** Names of all tables and views, in lower case. */
export async function relationNames(connection: DuckDBConnection): Promise<Set<string>> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal OR schema_name = 'main'`,
  );
  return new Set(reader.getRowsJson().map((row) => String(row[0]).toLowerCase()));
}

/**
 * Returns the name of a job's view: the name of the job, or a free name if a table or the view of another job has that name.
 */
export async function chooseViewName(connection: DuckDBConnection, name: string): Promise<string> {
  const taken = await relationNames(connection);
  const views = await connection.runAndReadAll('SELECT view_name FROM searchflow_jobs');
  for (const [view] of views.getRowsJson()) taken.add(String(view).toLowerCase());
  return freeName(name === '' ? 'job' : name, taken, (wanted, number) => `${wanted}_${number}`);
}

/** Creates the view of a job. The view has the rows of the current input; the user's columns come first. */
export async function makeView(
  connection: DuckDBConnection,
  view: string,
  job: string,
  columns: readonly string[],
  added: readonly ResultColumn[],
): Promise<void> {
  const { own, results } = viewColumns(
    columns,
    added.map(({ name }) => name),
  );
  const { inner, shown } = resultSql(added, false);
  const all = [
    ...own.map((name, index) => `input[${index + 1}] AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  await connection.run(
    `CREATE OR REPLACE VIEW ${identifier(view)} AS SELECT ${all.join(', ')}
     FROM (SELECT ${['*', ...inner].join(', ')} FROM enriched_rows WHERE job = ${literal(job)} AND vanished_at IS NULL)`,
  );
}
