import { describe } from 'vitest';
import { longRowsContract } from '../../suites/rows-contract.js';
import { sharedPostgres } from '../../support/postgres.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('a PostgreSQL warehouse', () => {
  longRowsContract(async () => postgresUnderTest(await sharedPostgres().database()));
});
