import { beforeAll, describe } from 'vitest';
import { monitorContract } from '../../suites/monitor-contract.js';
import { sharedPostgres } from '../../support/postgres.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

let database: string;
let schemas = 0;
beforeAll(async () => {
  database = await sharedPostgres().database();
});

describe('monitors in a PostgreSQL schema', () =>
  monitorContract(() => postgresUnderTest(`${database}?schema=monitors_${++schemas}`)));
