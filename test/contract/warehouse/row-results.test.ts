import { describe } from 'vitest';
import { resultContract } from '../../suites/result-contract.js';
import { typedRowsContract } from '../../suites/typed-rows-contract.js';
import { schemasOfFile } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const newSchema = schemasOfFile();
const inSchema = () => postgresUnderTest(newSchema());

describe('in a DuckDB file, results of', () => resultContract(duckDbUnderTest));
describe('in PostgreSQL, results of', () => resultContract(inSchema));
describe('in a DuckDB file, typed columns', () => typedRowsContract(duckDbUnderTest, true));
describe('in PostgreSQL, typed columns', () => typedRowsContract(inSchema, false));
