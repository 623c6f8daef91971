import { warehouseError } from '../shared/duckdb-error.js';
import { loadDuckDb } from '../shared/load-duckdb.js';
import { missingSteps } from './schema.js';

/** Memory in MB for reading a table of a few rows. */
const MEMORY_MB = 64;

/**
 * Reads the version of a warehouse file and changes nothing: `current`, `older` (the next load migrates it) or `empty`. Throws
 * `WarehouseBusy` if another process has the file open, and `WarehouseUnusable` if this version cannot use the file.
 */
export async function warehouseFileVersion(file: string): Promise<'current' | 'older' | 'empty'> {
  const { DuckDBInstance } = await loadDuckDb();
  try {
    const instance = await DuckDBInstance.create(file, {
      access_mode: 'READ_ONLY',
      memory_limit: `${MEMORY_MB}MB`,
      threads: '1',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
    try {
      const connection = await instance.connect();
      const steps = await missingSteps(connection, file);
      connection.closeSync();
      return steps === null ? 'empty' : steps.length === 0 ? 'current' : 'older';
    } finally {
      instance.closeSync();
    }
  } catch (error) {
    throw warehouseError(error, file);
  }
}
