import { DuckDBInstance } from '@duckdb/node-api';

/** The result of an SQL statement on a DuckDB file that no process is writing, as JSON values. */
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
