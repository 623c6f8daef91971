import { describe } from 'vitest';
import { resultContract } from '../../suites/result-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('in a DuckDB file, results of', () => {
  resultContract(duckDbUnderTest);
});

describe('in PostgreSQL, results of', () => {
  const newSchema = schemasOfFile();

  resultContract(() => {
    return postgresUnderTest(newSchema());
  });
});
