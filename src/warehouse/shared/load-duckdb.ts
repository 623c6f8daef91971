import type * as DuckDb from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';

let loading: Promise<typeof DuckDb> | null = null;

/**
 * Loads DuckDB on first use, because loading takes a tenth of a second. Throws `WarehouseUnusable` if DuckDB's binary for this machine is
 * missing: npm leaves the binary out with `--omit=optional`, and some machines have no binary.
 */
export async function loadDuckDb(): Promise<typeof DuckDb> {
  loading ??= import('@duckdb/node-api');
  try {
    return await loading;
  } catch (error) {
    loading = null;
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    const machine = `${process.platform} ${process.arch}`;
    throw new WarehouseUnusable(
      'installation-incomplete',
      `DuckDB for this machine (${machine}) cannot be loaded: ${reason}. Install it (npm install --include=optional @duckdb/node-api), or load into PostgreSQL (--into postgres://…)`,
      { cause: error },
    );
  }
}
