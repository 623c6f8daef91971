import { expect, test } from 'vitest';
import { compressions } from '../../../src/warehouse/duckdb/dialect/compression.js';
import { duckDbDialect } from '../../../src/warehouse/duckdb/dialect/event-dialect.js';
import { eventTables } from '../../../src/warehouse/events/event-tables.js';

test('every column with a DuckDB compression setting exists, and is set once', () => {
  const columns = new Set(eventTables(duckDbDialect).flatMap((table) => table.columns.map(({ name }) => name)));
  const told = Object.values(compressions).flat();
  expect(told.filter((name) => !columns.has(name))).toEqual([]);
  expect(new Set(told).size).toBe(told.length);
});
