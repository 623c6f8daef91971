import type { DuckDBConnection } from '@duckdb/node-api';
import { identifier, literal } from './quote.js';

/** Columns of `enriched_rows` that a job's view shows behind the user's own. */
const shown: readonly string[] = [
  'status',
  'error_tag',
  'error_message',
  'http_status',
  'title',
  'author',
  'published_date',
  'text',
  'highlights',
  'summary',
  'response',
  'request_id',
  'cost_dollars',
  'fetched_at',
  'row_number',
];

/** A name that none of these have yet; names that differ in case only are one name to a database. */
export function freeName(
  wanted: string,
  taken: ReadonlySet<string>,
  next: (name: string, turn: number) => string,
): string {
  let name = wanted;
  for (let turn = 2; taken.has(name.toLowerCase()); turn++) name = next(wanted, turn);
  return name;
}

/** Name of the job's view: its own name, unless a table or another job's view has it. */
export async function chooseViewName(connection: DuckDBConnection, name: string): Promise<string> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal OR schema_name = 'main'
     UNION SELECT view_name FROM searchflow_jobs`,
  );
  const taken = new Set(reader.getRowsJson().map((row) => String(row[0]).toLowerCase()));
  return freeName(name === '' ? 'job' : name, taken, (wanted, turn) => `${wanted}_${turn}`);
}

/** Makes the view of a job: the rows of its input as it is now, the user's columns first. */
export async function makeView(
  connection: DuckDBConnection,
  view: string,
  job: string,
  columns: readonly string[],
): Promise<void> {
  const taken = new Set<string>();
  const take = (name: string) => {
    taken.add(name.toLowerCase());
    return identifier(name);
  };
  const own = columns.map((column, index) => {
    const name = freeName(column === '' ? `column_${index + 1}` : column, taken, (wanted, turn) => `${wanted}_${turn}`);
    return `input[${index + 1}] AS ${take(name)}`;
  });
  const results = shown.map((column) => {
    const name = freeName(column, taken, (wanted, turn) => `${'result_'.repeat(turn - 1)}${wanted}`);
    return `${column} AS ${take(name)}`;
  });
  await connection.run(
    `CREATE OR REPLACE VIEW ${identifier(view)} AS SELECT ${[...own, ...results].join(', ')}
     FROM enriched_rows WHERE job = ${literal(job)} AND vanished_at IS NULL`,
  );
}
