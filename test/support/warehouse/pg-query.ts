import pg from 'pg';
import type { QueryResult } from '../../suites/warehouse-under-test.js';

/** Rows of a query on the warehouse at this address, as plain values. */
export async function pgQuery(url: string, sql: string): Promise<unknown[][]> {
  return (await pgResult(url, sql)).rows.map((row) => [...row]);
}

/** The result of a query on the warehouse at this address, with plain values. */
export async function pgResult(url: string, sql: string): Promise<QueryResult> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'searchflow';
  address.searchParams.delete('schema');
  const client = new pg.Client({ connectionString: address.href });
  // PostgreSQL returns counts and sums as text, because they may be too large for a number.
  client.setTypeParser(20, Number);
  client.setTypeParser(1700, Number);
  // The driver would read a day as midnight in the zone of this process.
  client.setTypeParser(1082, (day) => new Date(`${day}T00:00:00Z`));
  await client.connect();
  try {
    await client.query(`SET search_path = "${schema.replaceAll('"', '""')}"`);
    // Several statements have several results, of which the last one counts.
    const results = [(await client.query({ text: sql, rowMode: 'array' })) as pg.QueryArrayResult].flat();
    const { fields, rows } = results.at(-1) as pg.QueryArrayResult;
    return { names: fields.map(({ name }) => name), rows };
  } finally {
    await client.end();
  }
}
