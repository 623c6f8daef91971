import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { processesOf, signal } from './processes.mjs';

/** Queries a warehouse that no process of a campaign holds any longer. */
export async function openWarehouse({ dir }, address) {
  if (address.startsWith('postgres')) {
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    await client.query('SET search_path = searchflow');
    return { isPostgres: true, query: async (sql) => (await client.query(sql)).rows, close: () => client.end() };
  }
  signal(
    processesOf(dir).map(({ pid }) => pid),
    'SIGKILL',
  );
  const instance = await DuckDBInstance.create(address, {
    ...{ access_mode: 'READ_ONLY', memory_limit: '512MB', threads: '1' },
  });
  const connection = await instance.connect();
  return {
    isPostgres: false,
    query: async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
    async close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
