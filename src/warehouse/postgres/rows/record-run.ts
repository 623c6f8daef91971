import type { RunRecord } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { mendForPostgres } from '../../shared/mend-escapes.js';

/** See `RowWarehouse.recordRun`. */
export async function recordRun(tx: PgTransaction, run: RunRecord): Promise<void> {
  const { startedAt, endedAt, ...facts } = run;
  await tx.query(
    `INSERT INTO searchflow_runs
     SELECT r.job, r.run, r.scheduled, r.generation, to_timestamp($2 / 1000.0), to_timestamp($3 / 1000.0), r.phase, r.reason,
       r.message, r.rows, r.success, r.error, r.invalid, r.missing, r.vanished, r.requests, r."costMicros"
     FROM json_to_record($1::json) AS r(job text, run text, scheduled boolean, generation text, phase text, reason text,
       message text, rows bigint, success bigint, error bigint, invalid bigint, missing bigint, vanished bigint,
       requests bigint, "costMicros" bigint)
     ON CONFLICT (job, run) DO UPDATE SET (ended_at, phase, reason, message, rows, success, error, invalid, missing, vanished,
       requests, cost_micros) = (excluded.ended_at, excluded.phase, excluded.reason, excluded.message, excluded.rows,
       excluded.success, excluded.error, excluded.invalid, excluded.missing, excluded.vanished, excluded.requests,
       excluded.cost_micros)`,
    [mendForPostgres(JSON.stringify(facts)), startedAt, endedAt],
  );
}
