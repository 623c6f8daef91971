import pg from 'pg';
import type { Sink } from 'searchflow/worker';

/**
 * Loads batches into tables of your own database: `rows`, `events` and `monitor_runs`, a row with its JSON for each row of a batch. The table
 * `loaded_batches` makes sure that a batch is loaded once: its row is written in the same transaction.
 */
export function postgresSink(url: string): Sink & { close(): Promise<void> } {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  let made: Promise<unknown> | null = null;
  const make = () =>
    // Two workers may create the tables at the same time, so one waits for the other.
    pool.query(`BEGIN; SELECT pg_advisory_xact_lock(5021);
      CREATE TABLE IF NOT EXISTS loaded_batches (batch_id text PRIMARY KEY, job text NOT NULL, loaded_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS rows (batch_id text NOT NULL, job text NOT NULL, row json NOT NULL);
      CREATE TABLE IF NOT EXISTS events (LIKE rows INCLUDING ALL);
      CREATE TABLE IF NOT EXISTS monitor_runs (LIKE rows INCLUDING ALL); COMMIT`);
  return {
    timeoutSeconds: 120,
    async load({ batchId, job, table, rows }, { signal }) {
      made ??= make().catch((error: unknown) => {
        made = null;
        throw error;
      });
      await made;
      const client = await pool.connect();
      let error: Error | undefined;
      try {
        await client.query('BEGIN');
        // A second transaction with this batch waits here until the first one ends.
        const { rowCount } = await client.query(
          'INSERT INTO loaded_batches (batch_id, job) VALUES ($1, $2) ON CONFLICT DO NOTHING',
          [batchId, job],
        );
        if (rowCount === 1)
          await client.query(`INSERT INTO ${table} SELECT $1, $2, value FROM json_array_elements($3::json)`, [
            ...[batchId, job, JSON.stringify(rows)],
          ]);
        signal.throwIfAborted();
        await client.query('COMMIT');
      } catch (caught) {
        error = caught as Error;
        throw caught;
      } finally {
        // After an error the connection is closed, which ends its transaction.
        client.release(error);
      }
    },
    close: () => pool.end(),
  };
}
