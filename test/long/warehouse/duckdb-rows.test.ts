import { describe } from 'vitest';
import { longRowsContract } from '../../suites/rows-contract.js';
import { duckDbUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('a DuckDB warehouse', () => {
  longRowsContract(duckDbUnderTest);
});
