import { describe } from 'vitest';
import { sharedPostgres } from '../../support/postgres.js';
import { longRowsContract } from '../../support/warehouse/rows-contract.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('a PostgreSQL warehouse', () => {
  longRowsContract(async () => postgresUnderTest(await sharedPostgres().database()));
});
