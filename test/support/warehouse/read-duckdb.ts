import { DuckDBInstance } from '@duckdb/node-api';

/** Runs an SQL statement on a DuckDB file that no process is writing. Returns the rows as JSON values. */
export async function readDuckDb<Row = Record<string, unknown>>(file: string, sql: string): Promise<Row[]> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson() as Row[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
