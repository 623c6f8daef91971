import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { createPostgresSink } from '../../src/sinks/index.js';
import { type PostgresServer, startPostgres } from '../support/postgres-server.mjs';
import { sinkContract } from './sink-contract.js';

const here = dirname(fileURLToPath(import.meta.url));
let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await startPostgres();
  database = await server.database();
});
afterAll(() => server.stop());

/** Rows of a query, as plain values. */
async function query(url: string, sql: string): Promise<unknown[][]> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'searchflow';
  address.searchParams.delete('schema');
  const client = new pg.Client({ connectionString: address.href });
  // Counts and sums come as text, for fear of their size.
  client.setTypeParser(20, Number);
  client.setTypeParser(1700, Number);
  await client.connect();
  try {
    await client.query(`SET search_path = '${schema}'`);
    return (await client.query({ text: sql, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

describe('a PostgreSQL sink', () => {
  let schemas = 0;
  sinkContract(() => {
    const url = `${database}?schema=contract_${++schemas}`;
    const sink = createPostgresSink({ url });
    return {
      sink,
      query: (sql) => query(url, sql),
      spawnLoader: (batchesFile) => spawn(process.execPath, [join(here, 'loader.mjs'), url, batchesFile]),
      release: async () => undefined,
      nul: '\\u0000',
    };
  });
});
