import { describe } from 'vitest';
import { longSinkContract } from '../../support/sinks/sink-contract.js';
import { duckDbUnderTest } from '../../support/sinks/sinks-under-test.js';

describe('a DuckDB sink', () => {
  longSinkContract(duckDbUnderTest);
});
