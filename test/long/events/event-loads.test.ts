import { describe } from 'vitest';
import { eventContract } from '../../suites/event-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const newSchema = schemasOfFile();

describe('heavy loads of events in DuckDB', () => eventContract(duckDbUnderTest, 'large'));

describe('heavy loads of events in PostgreSQL', () => eventContract(() => postgresUnderTest(newSchema()), 'large'));
