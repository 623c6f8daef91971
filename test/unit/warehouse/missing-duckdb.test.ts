import { expect, it, onTestFinished, vi } from 'vitest';
import { failureOf } from '../../support/failure-of.js';

it('a warehouse whose DuckDB is not installed is unusable, and the error has the command that installs it', async () => {
  vi.doMock('@duckdb/node-api', () => {
    throw new Error("Cannot find module '@duckdb/node-bindings-linux-x64/duckdb.node'");
  });
  onTestFinished(() => {
    vi.doUnmock('@duckdb/node-api');
    vi.resetModules();
  });
  // Earlier tests of this process may have loaded DuckDB, and a module loads it once.
  vi.resetModules();
  const { WarehouseUnusable } = await import('../../../src/core/rows/warehouse-errors.js');
  const { loadDuckDb } = await import('../../../src/warehouse/shared/load-duckdb.js');
  const error = await failureOf(loadDuckDb());
  expect(error).toBeInstanceOf(WarehouseUnusable);
  expect((error as Error).message).toMatch(
    /^DuckDB for this machine \(\w+ \w+\) cannot be loaded: .*npm install --include=optional @duckdb\/node-api/,
  );
});
