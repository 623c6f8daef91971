import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';

/** Longest wait for a worker of this process to close a file: it does so when the file was idle for 250 ms. */
const CLOSING_MS = 1000;

/**
 * Runs an SQL statement on a DuckDB file that no process is writing. Returns the rows as JSON values. A worker of this process may still
 * have the file open, because locks keep only processes apart. Its last step is to remove the log, which a reader must not miss.
 */
export async function readDuckDb<Row = Record<string, unknown>>(file: string, sql: string): Promise<Row[]> {
  const until = Date.now() + CLOSING_MS;
  // A log of a killed process stays, and is read.
  while (existsSync(`${file}.wal`) && Date.now() < until) await delay(20);
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson() as Row[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Runs SQL statements on a DuckDB file, one after the other. */
export async function runInDuckDb(file: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
