import type { JournalTotals, UnknownOutcome } from '../../../core/purchase/journal.js';
import { identifier, type Postgres } from '../../../postgres/index.js';
import { jobOf } from '../../spend/spend-sums.js';
import { hex } from './journal-values.js';

/** See `Journal.prune`. The column `book` (an old name that stays) has the name of the segment. Segments with requests in flight are left alone. */
export async function pruneSegments(postgres: Postgres, segmentPrefix: string, before: number): Promise<number> {
  const schema = identifier(postgres.address.schema);
  const segments = await prunableSegments(postgres, segmentPrefix, before);
  for (const segment of segments) {
    await postgres.query(
      `UPDATE ${schema}.units SET body = NULL WHERE book = $1 AND body IS NOT NULL
           AND landed_at < to_timestamp($2::double precision / 1000)`,
      [segment, before],
    );
  }
  return segments.length;
}

/** Names of the segments that {@link pruneSegments} would prune. */
export async function prunableSegments(
  postgres: Postgres,
  segmentPrefix: string,
  before: number,
): Promise<readonly string[]> {
  const schema = identifier(postgres.address.schema);
  const rows = await postgres.query<{ book: string }>(
    `SELECT book FROM ${schema}.units u WHERE body IS NOT NULL AND starts_with(book, $1)
       GROUP BY book HAVING max(landed_at) < to_timestamp($2::double precision / 1000)
         AND NOT EXISTS (SELECT FROM ${schema}.purchases p WHERE p.book = u.book AND p.state = 'open')`,
    [segmentPrefix, before],
  );
  return rows.map(({ book }) => book);
}

/**
 * See `Journal.totals`. Purchases of units that were bought twice are listed, too, with an estimate of 0, because the cost of these
 * purchases is known.
 */
export async function totalsOf(postgres: Postgres, segmentPrefix: string): Promise<JournalTotals> {
  const schema = identifier(postgres.address.schema);
  // A prefix that names a job uses the index.
  const values = [segmentPrefix.includes('/') ? jobOf(segmentPrefix) : null, segmentPrefix];
  const from = `FROM ${schema}.purchases WHERE ($1::text IS NULL OR job = $1) AND starts_with(book, $2)`;
  const [sums] = await postgres.query<Omit<JournalTotals, 'unknown'>>(
    `SELECT count(*) FILTER (WHERE state = 'landed')::double precision AS requests,
         coalesce(sum(units), 0)::double precision AS "unitsLanded",
         coalesce(sum(cost_micros), 0)::double precision AS "costMicros",
         coalesce(sum(coalesce(list_micros, estimate_micros)) FILTER (WHERE state = 'landed'), 0)::double precision AS "listMicros",
         coalesce(sum(estimate_micros) FILTER (WHERE state = 'open'), 0)::double precision AS "openMicros" ${from}`,
    values,
  );
  const unknown = await postgres.query<UnknownOutcome>(
    `SELECT book, operation, keys, floor(extract(epoch FROM at) * 1000)::double precision AS "intendedAt", reason,
         CASE state WHEN 'unknown' THEN estimate_micros ELSE 0 END::double precision AS "estimateMicros"
       ${from} AND (state = 'unknown' OR bought_twice > 0) ORDER BY at, id`,
    values,
  );
  return {
    ...(sums as Omit<JournalTotals, 'unknown'>),
    unknown: unknown.map((outcome) => ({ ...outcome, keys: outcome.keys.map(hex) })),
  };
}
