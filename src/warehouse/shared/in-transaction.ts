import type { DuckDBConnection } from '@duckdb/node-api';

/** Runs `work` in a transaction of this connection: all of its changes are kept, or none. */
export async function inTransaction<T>(connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await connection.run('BEGIN');
  try {
    const result = await work();
    await connection.run('COMMIT');
    return result;
  } catch (error) {
    // A failed statement may have ended the transaction already.
    await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
