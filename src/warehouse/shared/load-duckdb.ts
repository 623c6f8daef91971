import type * as DuckDb from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';

/**
 * Loads DuckDB on first use, because loading takes a quarter of a second. Throws `WarehouseUnusable` if DuckDB's binary for this machine is
 * missing: npm leaves the binary out with `--omit=optional`, and some machines have no binary.
 */
export async function loadDuckDb(): Promise<typeof DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    const machine = `${process.platform} ${process.arch}`;
    throw new WarehouseUnusable(
      'installation-incomplete',
      `DuckDB for this machine (${machine}) cannot be loaded: ${reason}. Install it (npm install --include=optional @duckdb/node-api), or load into PostgreSQL (--into postgres://…)`,
      { cause: error },
    );
  }
}
