import type * as DuckDb from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';

/**
 * Loads DuckDB on first use, because that takes a quarter of a second. Throws `WarehouseUnusable` where its binary for this machine is
 * missing: npm leaves it out with `--omit=optional`, and there is none for some machines.
 */
export async function loadDuckDb(): Promise<typeof DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    const machine = `${process.platform} ${process.arch}`;
    throw new WarehouseUnusable(
      `DuckDB for this machine (${machine}) cannot be loaded: ${reason}. Install it (npm install --include=optional @duckdb/node-api), or load into PostgreSQL (--into postgres://…)`,
      { cause: error },
    );
  }
}
