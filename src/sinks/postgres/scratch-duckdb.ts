import { rm } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';

/** The same as a warehouse file has for work on a whole job. */
const LIMITS = { memory_limit: '256MB', threads: '1' } as const;

/** Runs `work` on a DuckDB in memory, which spills into the directory `temporary`; that is removed. */
export async function withScratchDuckDb<T>(
  temporary: string,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    ...LIMITS,
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
    await rm(temporary, { recursive: true, force: true });
  }
}
