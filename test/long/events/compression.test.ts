import { expect, test } from 'vitest';
import { compressions } from '../../../src/warehouse/duckdb/dialect/compression.js';
import { duckDbDialect } from '../../../src/warehouse/duckdb/dialect/event-dialect.js';
import { eventTables } from '../../../src/warehouse/events/event-tables.js';

test('every column with a DuckDB compression setting exists, and is set once', () => {
  const columns = new Set(eventTables(duckDbDialect).flatMap((table) => table.columns.map(({ name }) => name)));
  const names = Object.values(compressions).flat();
  expect(names.filter((name) => !columns.has(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
