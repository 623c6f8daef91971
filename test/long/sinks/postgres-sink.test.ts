import { describe } from 'vitest';
import { sharedPostgres } from '../../support/postgres.js';
import { longSinkContract } from '../../support/sinks/sink-contract.js';
import { postgresUnderTest } from '../../support/sinks/sinks-under-test.js';

describe('a PostgreSQL sink', () => {
  longSinkContract(async () => postgresUnderTest(await sharedPostgres().database()));
});
