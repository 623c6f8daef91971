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
  return run(file, [sql], { access_mode: 'READ_ONLY' });
}

/** Runs SQL statements on a DuckDB file, or on `:memory:`, one after the other. Returns the rows of the last one as JSON values. */
export async function runInDuckDb<Row = Record<string, unknown>>(file: string, ...sql: string[]): Promise<Row[]> {
  return run(file, sql);
}

async function run<Row>(file: string, statements: readonly string[], settings = {}): Promise<Row[]> {
  const instance = await DuckDBInstance.create(file, settings);
  const connection = await instance.connect();
  try {
    let rows: unknown[] = [];
    for (const sql of statements) rows = (await connection.runAndReadAll(sql)).getRowObjectsJson();
    return rows as Row[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
