import { describe } from 'vitest';
import { typedRowsContract } from '../../suites/typed-rows-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('in a DuckDB file, typed columns', () => {
  typedRowsContract(duckDbUnderTest, true);
});

describe('in PostgreSQL, typed columns', () => {
  const newSchema = schemasOfFile();

  typedRowsContract(() => postgresUnderTest(newSchema()), false);
});
