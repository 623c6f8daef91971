import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { literal } from './duckdb-quote.js';

/** Whether the folder has an extension; its version is checked when it is loaded. */
export const hasExtension = (name: 'httpfs' | 'ducklake', folder: string | null): boolean =>
  folder !== null && existsSync(join(folder, `${name}.duckdb_extension`));

/**
 * Loads an extension of DuckDB from a folder; nothing is downloaded. Throws `WarehouseUnusable` if it is missing or of another version.
 * `what` needs the extension, such as `Publishing to s3://`.
 */
export async function loadExtension(
  connection: DuckDBConnection,
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
