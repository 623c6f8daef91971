import type { DuckDBConnection } from '@duckdb/node-api';
import { CsvError } from '../rows/index.js';

/** Waits for a step of DuckDB, and interrupts the step after this time in ms. */
export async function withLimit<T>(connection: DuckDBConnection, work: Promise<T>, limitMs: number): Promise<T> {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    connection.interrupt();
  }, limitMs);
  try {
    return await work;
  } catch (error) {
    if (!isOver) throw error;
    throw new CsvError(
      `The query returned no row for ${Math.round(limitMs / 1000)} s and was stopped: make it faster, for example with a WHERE; nothing was bought`,
    );
  } finally {
    clearTimeout(timer);
  }
}
