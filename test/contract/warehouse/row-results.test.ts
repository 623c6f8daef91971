import { beforeAll, describe } from 'vitest';
import { resultContract } from '../../suites/result-contract.js';
import { sharedPostgres } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('in a DuckDB file, results of', () => {
  resultContract(duckDbUnderTest);
});

describe('in PostgreSQL, results of', () => {
  let database: string;
  let schemas = 0;
  beforeAll(async () => {
    database = await sharedPostgres().database();
  });

  resultContract(() => {
    return postgresUnderTest(`${database}?schema=results_${process.pid}_${++schemas}`);
  });
});
