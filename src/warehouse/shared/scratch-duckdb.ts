import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { loadDuckDb } from './load-duckdb.js';

const MEMORY_MB = 256;

/** Runs `work` on a DuckDB with memory of its own, which spills into the directory `temporary`. */
export async function withScratchDuckDb<T>(
  temporary: string,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const scratch = await openScratchDuckDb(temporary);
  try {
    return await work(scratch.connection);
  } finally {
    scratch.close();
  }
}

/** Opens a DuckDB that spills into the directory `temporary`. Its times are of UTC. */
export async function openScratchDuckDb(temporary: string) {
  const { DuckDBInstance } = await loadDuckDb();
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${MEMORY_MB}MB`,
    threads: '1',
    temp_directory: temporary,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // Secrets that a person stored for DuckDB would log in for the SQL of others.
    allow_persistent_secrets: 'false',
  });
  try {
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return {
      connection,
      close() {
        connection.closeSync();
        instance.closeSync();
      },
    };
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

export async function setMemory(connection: DuckDBConnection, megabytes: number): Promise<void> {
  await connection.run(`SET GLOBAL memory_limit = '${Math.max(MEMORY_MB, megabytes)}MB'`);
}

/** Runs `work` with a new folder for copies of files, and removes the folder. */
export async function withTemporaryFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'searchflow-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
