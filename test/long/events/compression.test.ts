import { expect, test } from 'vitest';
import { compressions, duckDbDialect } from '../../../src/warehouse/duckdb/dialect.js';
import { tablesOf } from '../../../src/warehouse/schema.js';

test('every column with a DuckDB compression setting exists, and is set once', () => {
  const columns = tablesOf(duckDbDialect).flatMap((table) => table.columns.map(({ name }) => name));
  const names = Object.values(compressions).flat();
  expect([names.filter((name) => !columns.includes(name)), new Set(names).size]).toEqual([[], names.length]);
});
