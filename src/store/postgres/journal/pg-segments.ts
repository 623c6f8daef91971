import { type JournalTotals, jobOf, type UnknownOutcome } from '../../../core/purchase/journal.js';
import { identifier, type Postgres } from '../../../postgres/index.js';
import { hex } from './journal-values.js';

/** See `Journal.prune`. Segments with requests in flight are left alone. */
export async function pruneSegments(postgres: Postgres, segmentPrefix: string, before: number): Promise<number> {
  const schema = identifier(postgres.address.schema);
  const segments = await prunableSegments(postgres, segmentPrefix, before);
  for (const segment of segments) {
    await postgres.query(
      `UPDATE ${schema}.units SET body = NULL WHERE segment = $1 AND body IS NOT NULL AND error_tag IS DISTINCT FROM 'FORGOTTEN'
           AND landed_at < to_timestamp($2::double precision / 1000)`,
      [segment, before],
    );
  }
  return segments.length;
}

/** Names of the segments that {@link pruneSegments} would prune. */
async function prunableSegments(postgres: Postgres, segmentPrefix: string, before: number): Promise<readonly string[]> {
  const schema = identifier(postgres.address.schema);
  const rows = await postgres.query<{ segment: string }>(
    `SELECT segment FROM ${schema}.units u WHERE body IS NOT NULL AND error_tag IS DISTINCT FROM 'FORGOTTEN' AND starts_with(segment, $1)
       GROUP BY segment HAVING max(landed_at) < to_timestamp($2::double precision / 1000)
         AND NOT EXISTS (SELECT FROM ${schema}.purchases p WHERE p.segment = u.segment AND p.state = 'open')`,
    [segmentPrefix, before],
  );
  return rows.map(({ segment }) => segment);
}

/** Bytes of the bodies that {@link pruneSegments} would remove. */
export async function prunableBytes(postgres: Postgres, segmentPrefix: string, before: number): Promise<number> {
  const segments = await prunableSegments(postgres, segmentPrefix, before);
  const [sum] = await postgres.query<{ bytes: number }>(
    `SELECT coalesce(sum(octet_length(body)), 0)::double precision AS bytes FROM ${identifier(postgres.address.schema)}.units
     WHERE segment = ANY ($1)`,
    [segments],
  );
  return sum?.bytes ?? 0;
}

/**
 * See `Journal.totals`. Purchases of units that were bought twice are listed, too, with an estimate of 0, because the cost of these
 * purchases is known.
 */
export async function totalsOf(postgres: Postgres, segmentPrefix: string, since = 0): Promise<JournalTotals> {
  const schema = identifier(postgres.address.schema);
  // A prefix that names a job uses the index.
  const values = [segmentPrefix.includes('/') ? jobOf(segmentPrefix) : null, segmentPrefix];
  const from = `FROM ${schema}.purchases WHERE ($1::text IS NULL OR job = $1) AND starts_with(segment, $2)`;
  const [sums] = await postgres.query<Omit<JournalTotals, 'unknown'>>(
    `SELECT count(*) FILTER (WHERE state = 'landed')::double precision AS requests,
         coalesce(sum(units), 0)::double precision AS "unitsLanded",
         coalesce(sum(cost_micros), 0)::double precision AS "costMicros",
         coalesce(sum(list_micros) FILTER (WHERE state = 'landed'), 0)::double precision AS "listMicros",
         coalesce(sum(estimate_micros) FILTER (WHERE state = 'open'), 0)::double precision AS "openMicros",
         coalesce(sum(estimate_micros) FILTER (WHERE state = 'open' AND at >= to_timestamp($3 / 1000.0)), 0)::double precision
           AS "openSinceMicros" ${from}`,
    [...values, since],
  );
  const unknown = await postgres.query<UnknownOutcome>(
    `SELECT segment AS book, operation, keys, floor(extract(epoch FROM at) * 1000)::double precision AS "intendedAt", reason,
         CASE state WHEN 'unknown' THEN estimate_micros ELSE 0 END::double precision AS "estimateMicros"
       ${from} AND (state = 'unknown' OR bought_twice > 0) ORDER BY at, id`,
    values,
  );
  return {
    ...(sums as Omit<JournalTotals, 'unknown'>),
    unknown: unknown.map((outcome) => ({ ...outcome, keys: outcome.keys.map(hex) })),
  };
}
