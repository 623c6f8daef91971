import type { UnknownOutcome } from '../../../core/purchase/journal.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { mendForPostgres } from '../../shared/mend-escapes.js';

/** See `RowWarehouse.recordUnknown`. Outcomes with equal segment, operation, time and keys are one outcome. */
export async function recordUnknown(
  tx: PgTransaction,
  job: string,
  outcomes: readonly UnknownOutcome[],
): Promise<void> {
  await tx.query(
    `INSERT INTO unknown_outcomes
     SELECT $1, md5(concat_ws(chr(10), o.book, o.operation, o."intendedAt", o.keys::text)), o.book, o.operation, o.keys,
       to_timestamp(o."intendedAt" / 1000.0), o.reason, o."estimateMicros", now()
     FROM (SELECT DISTINCT ON (r.book, r.operation, r."intendedAt", r.keys) r.* FROM json_to_recordset($2::json)
       AS r(book text, operation text, keys text[], "intendedAt" bigint, reason text, "estimateMicros" bigint)) o
     ON CONFLICT (job, id) DO UPDATE SET reason = excluded.reason, estimate_micros = excluded.estimate_micros`,
    [job, mendForPostgres(JSON.stringify(outcomes))],
  );
}
