import { describe } from 'vitest';
import { eventContract } from '../../suites/event-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const newSchema = schemasOfFile();

describe('events in PostgreSQL', () => eventContract(() => postgresUnderTest(newSchema())));
