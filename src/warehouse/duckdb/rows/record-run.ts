import type { DuckDBConnection } from '@duckdb/node-api';
import type { RunRecord } from '../../../core/rows/row-warehouse.js';

/** See `RowWarehouse.recordRun`. */
export async function recordRun(connection: DuckDBConnection, run: RunRecord): Promise<void> {
  const { startedAt, endedAt, ...facts } = run;
  await connection.run(
    `INSERT OR REPLACE INTO searchflow_runs
     SELECT r.job, r.run, r.scheduled, r.generation, make_timestamp_ms($started::BIGINT), make_timestamp_ms($ended::BIGINT),
       r.phase, r.reason, r.message, r.rows, r.success, r.error, r.invalid, r.missing, r.vanished, r.requests, r."costMicros"
     FROM (SELECT from_json($facts::JSON, '{"job": "VARCHAR", "run": "VARCHAR", "scheduled": "BOOLEAN", "generation": "VARCHAR",
       "phase": "VARCHAR", "reason": "VARCHAR", "message": "VARCHAR", "rows": "BIGINT", "success": "BIGINT", "error": "BIGINT",
       "invalid": "BIGINT", "missing": "BIGINT", "vanished": "BIGINT", "requests": "BIGINT", "costMicros": "BIGINT"}') AS r)`,
    { facts: JSON.stringify(facts), started: BigInt(startedAt), ended: BigInt(endedAt) },
  );
}
