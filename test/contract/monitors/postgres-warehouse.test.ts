import pg from 'pg';
import { beforeAll, describe } from 'vitest';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { warehouseContract } from '../../support/monitors/warehouse-contract.js';
import { type SharedPostgres, sharedPostgres } from '../../support/postgres.js';

let server: SharedPostgres;
let database: string;
beforeAll(async () => {
  server = sharedPostgres();
  database = await server.database();
});

describe('monitors in a PostgreSQL schema', () => {
  let schemas = 0;
  warehouseContract(async () => {
    const schema = `monitors_${++schemas}`;
    return {
      warehouse: createWarehouses().open(`${database}?schema=${schema}`).monitors,
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
