import type { DuckDBConnection } from '@duckdb/node-api';
import { loadDuckDb } from './load-duckdb.js';

/** Memory in MB of a scratch DuckDB. A warehouse file has as much for work on a whole job. */
const MEMORY_MB = 256;

/** Runs `work` on a DuckDB with memory of its own, which spills into the directory `temporary`. */
export async function withScratchDuckDb<T>(
  temporary: string,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const { DuckDBInstance } = await loadDuckDb();
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${MEMORY_MB}MB`,
    threads: '1',
    temp_directory: temporary,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  try {
    const connection = await instance.connect();
    try {
      return await work(connection);
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

/** Sets the memory of a scratch DuckDB, in MB. */
export async function setMemory(connection: DuckDBConnection, megabytes: number): Promise<void> {
  await connection.run(`SET GLOBAL memory_limit = '${Math.max(MEMORY_MB, megabytes)}MB'`);
}
