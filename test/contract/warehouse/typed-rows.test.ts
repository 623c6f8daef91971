import { beforeAll, describe } from 'vitest';
import { typedRowsContract } from '../../suites/typed-rows-contract.js';
import { sharedPostgres } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('in a DuckDB file, typed columns', () => {
  typedRowsContract(duckDbUnderTest, true);
});

describe('in PostgreSQL, typed columns', () => {
  let database: string;
  let schemas = 0;
  beforeAll(async () => {
    database = await sharedPostgres().database();
  });

  typedRowsContract(() => postgresUnderTest(`${database}?schema=typed_${process.pid}_${++schemas}`), false);
});
