import { expect, test } from 'vitest';
import { compressions, tables } from '../../../src/warehouse/duckdb/schema.js';

test('every column with a DuckDB compression setting exists, and is set once', () => {
  const columns = new Set(tables.flatMap((table) => table.columns.map(({ name }) => name)));
  const names = Object.values(compressions).flat();
  expect(names.filter((name) => !columns.has(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
