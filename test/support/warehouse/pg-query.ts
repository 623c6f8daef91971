import pg from 'pg';

/** Rows of a query on the warehouse at this address, as plain values. */
export async function pgQuery(url: string, sql: string): Promise<unknown[][]> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'searchflow';
  address.searchParams.delete('schema');
  const client = new pg.Client({ connectionString: address.href });
  // PostgreSQL returns counts and sums as text, because they may be too large for a number.
  client.setTypeParser(20, Number);
  client.setTypeParser(1700, Number);
  await client.connect();
  try {
    await client.query(`SET search_path = "${schema.replaceAll('"', '""')}"`);
    return (await client.query({ text: sql, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}
