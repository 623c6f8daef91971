import { describe } from 'vitest';
import { monitorContract } from '../../suites/monitor-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const newSchema = schemasOfFile();

describe('monitors in a PostgreSQL schema', () => monitorContract(() => postgresUnderTest(newSchema())));
