import type { DuckDBConnection } from '@duckdb/node-api';
import type { UnknownOutcome } from '../../../core/purchase/journal.js';

/** See `RowWarehouse.recordUnknown`. Outcomes with equal segment, operation, time and keys are one outcome. */
export async function recordUnknown(
  connection: DuckDBConnection,
  job: string,
  outcomes: readonly UnknownOutcome[],
): Promise<void> {
  await connection.run(
    `INSERT INTO unknown_outcomes
     SELECT $job, md5(concat_ws(chr(10), o.book, o.operation, o."intendedAt", o.keys::VARCHAR)), o.book, o.operation, o.keys,
       make_timestamp_ms(o."intendedAt"), o.reason, o."estimateMicros", make_timestamp_ms($now::BIGINT)
     FROM (SELECT unnest(from_json($outcomes::JSON, '[{"book": "VARCHAR", "operation": "VARCHAR", "keys": ["VARCHAR"],
       "intendedAt": "BIGINT", "reason": "VARCHAR", "estimateMicros": "BIGINT"}]')) AS o)
     ON CONFLICT (job, id) DO UPDATE SET reason = excluded.reason, estimate_micros = excluded.estimate_micros`,
    { job, outcomes: JSON.stringify(outcomes), now: BigInt(Date.now()) },
  );
}
