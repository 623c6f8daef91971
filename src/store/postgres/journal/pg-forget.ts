import { ownReasons } from '../../../core/purchase/attempts.js';
import {
  FORGOTTEN,
  FORGOTTEN_SEGMENT,
  type ForgettingJournal,
  forgottenOutcome,
  keptReasons,
  type RemovedBodies,
} from '../../../core/purchase/forgotten.js';
import { type JournalTotals, jobOf, RESULT_MARK, type UnknownOutcome } from '../../../core/purchase/journal.js';
import { identifier, type Postgres, vacuum } from '../../../postgres/index.js';
import { unitLine } from '../../file/unit-record.js';
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

/** Number of keys in one statement. */
const AT_ONCE = 1000;
/** Time limit of a statement that reads all bodies, in ms. */
const LONG_MS = 600_000;

/** The tables that `purge` vacuums. */
const TABLES = ['units', 'purchases', 'stage_slices'] as const;

/** The body of a forgotten unit with the share of the cost that its former body has; without it if the former body was pruned. */
const keptShare = `replace(excluded.body, '${RESULT_MARK}',
             coalesce(',"kept_micros":' || substring(u.body FROM '"cost_micros":([0-9]+)'), '') || '${RESULT_MARK}')`;

/** See `ForgettingJournal`. */
export function createPgForget(postgres: Postgres): ForgettingJournal {
  const schema = identifier(postgres.address.schema);
  const inParts = async (keys: Iterable<string>, work: (part: readonly string[]) => Promise<void>): Promise<void> => {
    const all = [...new Set(keys)].sort();
    for (let from = 0; from < all.length; from += AT_ONCE) await work(all.slice(from, from + AT_ONCE));
  };
  return {
    forget: (keys) =>
      inParts(keys, async (part) => {
        const now = Date.now();
        const bodies = part.map((key) => unitLine(forgottenOutcome(key), 'forgotten', null, now)).join('\n');
        // A unit keeps its purchase, the time of its answer and its share of the cost, which only its body has.
        await postgres.query(
          `INSERT INTO ${schema}.units AS u (key, purchase, segment, bought, fetched_ms, landed_at, status, error_tag, body)
           SELECT k, gen_random_uuid(), $3, false, $4, clock_timestamp(), 'error', '${FORGOTTEN}', b
           FROM unnest($1::uuid[], string_to_array($2, E'\\n')) AS given (k, b) ORDER BY k
           ON CONFLICT (key) DO UPDATE SET status = 'error', error_tag = '${FORGOTTEN}', body = ${keptShare}
           WHERE u.error_tag IS DISTINCT FROM '${FORGOTTEN}'`,
          [part, bodies, FORGOTTEN_SEGMENT, now],
        );
      }),

    async forgotten() {
      const rows = await postgres.query<{ key: string }>(
        `SELECT key::text AS key FROM ${schema}.units WHERE error_tag = '${FORGOTTEN}'`,
      );
      return new Set(rows.map(({ key }) => hex(key)));
    },

    async keysOf(job) {
      const rows = await postgres.query<{ key: string }>(
        `SELECT DISTINCT k::text AS key FROM ${schema}.purchases, unnest(keys) AS k WHERE job = $1`,
        [job],
        { statementMs: LONG_MS },
      );
      return rows.map(({ key }) => hex(key));
    },

    async search(text, each) {
      const rows = await postgres.query<{ key: string; unit: string }>(
        `SELECT key, unit FROM (SELECT key::text AS key, substring(body FROM '"unit":("(?:[^"\\\\]|\\\\.)*")') AS unit
           FROM ${schema}.units) u WHERE strpos(lower(unit), lower($1)) > 0`,
        [JSON.stringify(text).slice(1, -1)],
        { statementMs: LONG_MS },
      );
      for (const { key, unit } of rows) each(hex(key), unit);
    },

    async removeBodies(keys, dryRun) {
      const sum = { bodies: 0, bytes: 0 };
      const add = (found: RemovedBodies | undefined) => {
        sum.bodies += found?.bodies ?? 0;
        sum.bytes += found?.bytes ?? 0;
      };
      await inParts(keys, async (part) => {
        // The body of a forgotten unit was replaced when it was recorded as forgotten.
        const [units] = await postgres.query<RemovedBodies>(
          `SELECT count(*)::double precision AS bodies, coalesce(sum(octet_length(body)), 0)::double precision AS bytes
           FROM ${schema}.units WHERE key = ANY ($1::uuid[]) AND body IS NOT NULL AND error_tag IS DISTINCT FROM '${FORGOTTEN}'`,
          [part],
        );
        add(units);
        const texts = `FROM ${schema}.purchases WHERE keys && $1::uuid[]
          AND (came IS NOT NULL OR (state IN ('unknown', 'never') AND reason <> ALL ($2::text[])))`;
        const [came] = await postgres.query<RemovedBodies>(
          `SELECT count(*)::double precision AS bodies, coalesce(sum(octet_length(coalesce(came, reason))), 0)::double precision AS bytes ${texts}`,
          [part, keptReasons],
          { statementMs: LONG_MS },
        );
        add(came);
        if (!dryRun && (came?.bodies ?? 0) > 0)
          await postgres.query(
            `UPDATE ${schema}.purchases SET came = NULL,
               reason = CASE WHEN state IN ('unknown', 'never') AND reason <> ALL ($2::text[]) THEN $3 ELSE reason END
             WHERE id IN (SELECT id ${texts})`,
            [part, keptReasons, ownReasons.removed],
            { statementMs: LONG_MS },
          );
      });
      return sum;
    },

    purge: () => vacuum(postgres, TABLES),
  };
}
