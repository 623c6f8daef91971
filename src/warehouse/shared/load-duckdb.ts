import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { literal } from './duckdb-quote.js';

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

/** Whether the folder has an extension; its version is checked when it is loaded. */
export const hasExtension = (name: 'httpfs' | 'ducklake', folder: string | null): boolean =>
  folder !== null && existsSync(join(folder, `${name}.duckdb_extension`));

/**
 * Loads an extension of DuckDB from a folder; nothing is downloaded. Throws `WarehouseUnusable` if it is missing or of another version.
 * `what` needs the extension, such as `Publishing to s3://`.
 */
export async function loadExtension(
  connection: DuckDb.DuckDBConnection,
  name: string,
  folder: string | null,
  what: string,
): Promise<void> {
  const version = String((await connection.runAndReadAll('SELECT version()')).getRows()[0]?.[0]).replace(/^v/, '');
  const file = `${name}.duckdb_extension`;
  const way = `put ${file} of DuckDB ${version} into a folder, and set SEARCHFLOW_DUCKDB_EXTENSIONS to this folder`;
  const path = folder === null ? null : join(folder, file);
  if (path === null || !existsSync(path))
    throw new WarehouseUnusable(
      'duckdb-extension-missing',
      `${what} needs DuckDB's extension ${name}${path === null ? '' : `, and ${path} is missing`}: ${way}`,
    );
  try {
    await connection.run(`LOAD ${literal(path)}`);
  } catch (error) {
    throw new WarehouseUnusable('duckdb-extension-missing', `DuckDB cannot load ${path}: ${way}`, { cause: error });
  }
}
