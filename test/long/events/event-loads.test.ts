import { beforeAll, describe } from 'vitest';
import { eventContract } from '../../suites/event-contract.js';
import { sharedPostgres } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

let database: string;
let schemas = 0;
beforeAll(async () => {
  database = await sharedPostgres().database('events');
});

describe('heavy loads of events in DuckDB', () => eventContract(duckDbUnderTest, 'large'));

describe('heavy loads of events in PostgreSQL', () =>
  eventContract(() => postgresUnderTest(`${database}?schema=events_${++schemas}`), 'large'));
