import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { createMonitorWarehouses } from '../../../src/sinks/index.js';
import { warehouseContract } from '../../support/monitors/warehouse-contract.js';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.mjs';

let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await startPostgres();
  database = await server.database();
});
afterAll(() => server.stop());

describe('monitors in a PostgreSQL schema', () => {
  let schemas = 0;
  warehouseContract(async () => {
    const schema = `monitors_${++schemas}`;
    return {
      warehouse: createMonitorWarehouses().open(`${database}?schema=${schema}`),
      query: async (sql) => {
        const client = new pg.Client({ connectionString: database });
        await client.connect();
        try {
          await client.query(`SET search_path = '${schema}'`);
          return (await client.query<Record<string, unknown>>(sql)).rows;
        } finally {
          await client.end();
        }
      },
      release: async () => undefined,
    };
  });
});
