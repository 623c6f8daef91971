import type { ActivityStep, DayUsage, JournalReport } from '../../../core/purchase/activity.js';
import { type Attempt, isUnsent, type UnitHistory } from '../../../core/purchase/attempts.js';
import { FORGOTTEN } from '../../../core/purchase/forgotten.js';
import type { UnitStatus } from '../../../core/purchase/journal.js';
import type { PeriodSpend, Spend, SpendCaps, UsageGroup, UsageLine } from '../../../core/purchase/spend.js';
import { identifier, type Postgres } from '../../../postgres/index.js';
import { startOfDay } from '../../file/spend.js';

/** What a report reads from the journal of a team. PostgreSQL adds up; only sums are sent. */
export function createPgReport(postgres: Postgres, team: string): JournalReport {
  const schema = identifier(postgres.address.schema);
  const number = (expression: string) => `coalesce(${expression}, 0)::double precision`;
  const seconds = (of: 'sum' | 'max') =>
    number(`${of}(greatest(0, extract(epoch FROM closed_at - at))) FILTER (WHERE state = 'landed')`);
  const isLimited = "state = 'never' AND http_status = 429";
  return {
    activity: ({ job, since, until, stepMs, windowMs, shares, usual }) =>
      postgres.query<ActivityStep>(
        `WITH sent AS (
           SELECT coalesce(s.bucket, $6) AS bucket, coalesce(s.units, $7) AS units, state, http_status, wait_ms, at, closed_at,
             floor(extract(epoch FROM at) * 1000 / $5::double precision) AS nth
           FROM ${schema}.purchases LEFT JOIN json_to_recordset($8::json) AS s(operation text, bucket text, units double precision)
             USING (operation)
           WHERE team = $1 AND ($2::text IS NULL OR job = $2) AND state <> 'settled'
             AND at >= to_timestamp($3::double precision / 1000) AND at < to_timestamp($4::double precision / 1000)
             AND (state <> 'never' OR http_status IS NOT NULL)
         ), windows AS (
           SELECT bucket, nth, sum(units) AS units FROM sent
           GROUP BY bucket, nth, floor(extract(epoch FROM at) * 1000 / $9::double precision)
         ), busy AS (
           SELECT bucket, nth, count(*) AS active, max(units) AS busiest FROM windows GROUP BY bucket, nth
         )
         SELECT bucket, (nth * $5::double precision)::double precision AS at, ${number('count(*)')} AS requests,
           ${number('sum(units)')} AS units, ${number('max(active)')} AS active, ${number('max(busiest)')} AS busiest,
           ${number("count(*) FILTER (WHERE state = 'landed')")} AS answered,
           ${seconds('sum')} AS seconds, ${seconds('max')} AS slowest,
           ${number(`count(*) FILTER (WHERE ${isLimited})`)} AS limited,
           ${number(`sum(wait_ms / 1000) FILTER (WHERE ${isLimited})`)} AS "waitSeconds",
           ${number(`count(*) FILTER (WHERE state = 'never' AND NOT (${isLimited}))`)} AS failed,
           ${number("count(*) FILTER (WHERE state = 'unknown')")} AS lost
         FROM sent JOIN busy USING (bucket, nth) GROUP BY bucket, nth ORDER BY bucket COLLATE "C", nth`,
        [team, job, since, until, stepMs, usual.bucket, usual.units, JSON.stringify(shares), windowMs],
      ),

    days: (job, since, until) =>
      postgres.query<DayUsage>(
        `SELECT to_char(day, 'YYYY-MM-DD') AS day, operation, ${number('sum(requests)')} AS requests, ${number('sum(units)')} AS units,
           ${number('sum(landed_micros)')} AS "landedMicros", ${number('sum(open_micros)')} AS "openMicros",
           ${number('sum(unknown_outcomes)')} AS "unknownOutcomes", ${number('sum(unknown_micros)')} AS "unknownMicros"
         FROM ${schema}.spend
         WHERE team = $1 AND ($2::text IS NULL OR job = $2) AND day >= $3::date AND day <= $4::date
         GROUP BY day, operation ORDER BY day, operation`,
        [team, job, dayOf(since), dayOf(until - 1)],
      ),
  };
}

const groups: Readonly<Record<UsageGroup, string>> = {
  job: 'job',
  operation: 'operation',
  day: `to_char(day, 'YYYY-MM-DD') COLLATE "C"`,
};

const dayOf = (at: number): string => new Date(startOfDay(at)).toISOString().slice(0, 10);

/** The spending and caps of a team, from sums that the journal updates in the transactions of its purchases. */
export function createPgSpend(postgres: Postgres, team: string): Spend {
  const schema = identifier(postgres.address.schema);

  async function period(unit: 'day' | 'month'): Promise<PeriodSpend> {
    const [row] = await postgres.query<PeriodSpend>(
      `WITH period AS (SELECT date_trunc($2, clock_timestamp() AT TIME ZONE 'UTC') AS began)
       SELECT (extract(epoch FROM began AT TIME ZONE 'UTC') * 1000)::double precision AS since,
         coalesce(sum(landed_micros), 0)::double precision AS "landedMicros",
         coalesce(sum(open_micros), 0)::double precision AS "openMicros",
         coalesce(sum(unknown_micros), 0)::double precision AS "unknownMicros"
       FROM period LEFT JOIN ${schema}.spend ON team = $1 AND day >= began::date GROUP BY began`,
      [team, unit],
    );
    return row as PeriodSpend;
  }

  return {
    async caps() {
      const [row] = await postgres.query<SpendCaps>(
        `SELECT day_micros::double precision AS "dayMicros", month_micros::double precision AS "monthMicros"
         FROM ${schema}.caps WHERE team = $1`,
        [team],
      );
      return row ?? { dayMicros: null, monthMicros: null };
    },

    async setCaps({ dayMicros, monthMicros }) {
      const [row] = await postgres.query<SpendCaps>(
        `INSERT INTO ${schema}.caps AS c (team, day_micros, month_micros) VALUES ($1, $2, $3)
         ON CONFLICT (team) DO UPDATE SET day_micros = CASE WHEN $4 THEN $2 ELSE c.day_micros END,
           month_micros = CASE WHEN $5 THEN $3 ELSE c.month_micros END
         RETURNING day_micros::double precision AS "dayMicros", month_micros::double precision AS "monthMicros"`,
        [team, dayMicros ?? null, monthMicros ?? null, dayMicros !== undefined, monthMicros !== undefined],
      );
      return row as SpendCaps;
    },

    async spent() {
      const [day, month] = await Promise.all([period('day'), period('month')]);
      return { day, month };
    },

    async counted(job) {
      const [row] = await postgres.query<{ micros: number }>(
        `SELECT coalesce(sum(landed_micros + open_micros + unknown_micros), 0)::double precision AS micros
         FROM ${schema}.spend WHERE job = $1`,
        [job],
      );
      return row?.micros ?? 0;
    },

    usage: (by, since, until) =>
      postgres.query<UsageLine>(
        `SELECT ${groups[by]} AS "group", sum(requests)::double precision AS requests, sum(units)::double precision AS units,
           sum(landed_micros)::double precision AS "landedMicros", sum(open_micros)::double precision AS "openMicros",
           sum(unknown_outcomes)::double precision AS "unknownOutcomes",
           sum(unknown_micros)::double precision AS "unknownMicros"
         FROM ${schema}.spend
         WHERE team = $1 AND ($2::date IS NULL OR day >= $2) AND ($3::date IS NULL OR day <= $3)
         GROUP BY 1 ORDER BY 1`,
        [team, since === undefined ? null : dayOf(since), until === undefined ? null : dayOf(until - 1)],
      ),
  };
}

interface PurchaseRow {
  readonly id: string;
  readonly segment: string;
  readonly operation: string;
  readonly state: 'open' | 'landed' | 'unknown' | 'never';
  readonly at: number;
  readonly closed: number | null;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly note: string | null;
  readonly came?: string | null;
  /** Number of its units; `wanted`: those that were asked for. */
  readonly size: number;
  readonly wanted: readonly string[];
  readonly estimate: number;
  readonly cost: number;
  /** Number of units among which its cost was split; null: not known. */
  readonly sharing: number | null;
  /** Number of its units whose answer is still the newest and not forgotten; `successes`: those without an error. */
  readonly current: number;
  readonly successes: number;
}

interface UnitRow {
  readonly key: string;
  readonly purchase: string;
  readonly segment: string;
  readonly bought: boolean;
  readonly fetched: number;
  readonly status: UnitStatus;
  readonly tag: string | null;
  readonly bytes: number | null;
  readonly cost: number | null;
}

/** Whether a unit was forgotten: its status is no longer that of its answer. */
const forgotten = `(error_tag IS NOT DISTINCT FROM '${FORGOTTEN}')`;

/**
 * See `PurchaseHistory.history`. Purchases are found by their job, and by the tables that have a unit's purchase: landed units, unknown
 * outcomes and runs. Their keys have no index, because each request would update it several times for each of its units.
 */
export async function historyOf(
  postgres: Postgres,
  keys: readonly string[],
  jobs: readonly string[],
  texts = false,
): Promise<ReadonlyMap<string, UnitHistory>> {
  const schema = identifier(postgres.address.schema);
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) return new Map();
  const units = await postgres.query<UnitRow>(
    `SELECT replace(key::text, '-', '') AS key, purchase, segment, bought, fetched_ms AS fetched, status, error_tag AS tag,
       octet_length(body) AS bytes,
       substring(body FROM CASE WHEN ${forgotten} THEN '"kept_micros":([0-9]+)' ELSE '"cost_micros":([0-9]+)' END)::double precision AS cost
     FROM ${schema}.units WHERE key = ANY ($1)`,
    [wanted],
  );
  const purchases = await postgres.query<PurchaseRow>(
    `WITH found AS (
       SELECT id FROM ${schema}.purchases WHERE job = ANY ($2) AND keys && CAST($1 AS uuid[])
       UNION SELECT purchase FROM ${schema}.units WHERE key = ANY ($1)
       UNION SELECT purchase FROM ${schema}.lost_units WHERE key = ANY ($1)
       UNION SELECT purchase FROM ${schema}.runs WHERE key = ANY ($1))
     SELECT p.id, p.segment, p.operation, p.state, floor(extract(epoch FROM p.at) * 1000)::double precision AS at,
       floor(extract(epoch FROM p.closed_at) * 1000)::double precision AS closed, p.request_id, p.reason, p.note, ${texts ? 'p.came,' : ''}
       cardinality(p.keys) AS size,
       ARRAY(SELECT replace(k::text, '-', '') FROM unnest(p.keys) AS k WHERE k = ANY ($1)) AS wanted,
       p.estimate_micros::double precision AS estimate, p.cost_micros::double precision AS cost,
       round(p.cost_micros * p.units / nullif(p.list_micros * p.cost_multiple, 0))::double precision AS sharing,
       (SELECT count(*) FROM ${schema}.units u WHERE u.key = ANY (p.keys) AND u.purchase = p.id AND NOT ${forgotten})::integer AS current,
       (SELECT count(*) FROM ${schema}.units u WHERE u.key = ANY (p.keys) AND u.purchase = p.id AND u.status = 'success')::integer
         AS successes
     FROM ${schema}.purchases p JOIN found USING (id) WHERE p.state <> 'settled' ORDER BY p.at, p.id`,
    [wanted, jobs],
  );
  return new Map(
    wanted.map((key) => {
      const unit = units.find((one) => one.key === key);
      const own = purchases.filter((purchase) => purchase.wanted.includes(key));
      return [
        key,
        { attempts: own.map((purchase) => attemptOf(purchase, unit)), landed: unit ? landedOf(unit) : null },
      ];
    }),
  );
}

const landedOf = ({ segment, fetched: at, status, tag, bought, bytes }: UnitRow) => ({
  ...{ segment, at, status, tag, bought, bytes, inJournal: bytes !== null },
});

function attemptOf(purchase: PurchaseRow, unit: UnitRow | undefined): Attempt {
  const { segment, operation, state, at, closed, reason, came, size, estimate, cost } = purchase;
  const base = { segment, operation, at, endedAt: closed, reason, came, run: runOf(purchase.note), units: size };
  if (state === 'landed') {
    const costMicros = shareOf(purchase, unit);
    return { ...base, outcome: 'landed', requestId: purchase.request_id, costMicros, requestMicros: cost };
  }
  const isFree = state === 'never';
  const outcome: Attempt['outcome'] = isFree ? (isUnsent(reason) ? 'unsent' : 'free') : state;
  const amounts = { costMicros: isFree ? 0 : null, requestMicros: isFree ? 0 : estimate };
  return { ...base, outcome, requestId: null, ...amounts };
}

/**
 * The unit's share of the cost of an answer, which only the unit's newest answer has in its body. The cost is split over the units without an
 * error. If newer answers have replaced some of the units, the others show which of them had an error; null if they do not.
 */
function shareOf(
  { id, size, cost, sharing, current, successes }: PurchaseRow,
  unit: UnitRow | undefined,
): number | null {
  if (cost === 0) return 0;
  if (size === 1) return cost;
  const isCurrent = unit?.purchase === id;
  if (isCurrent && unit.cost !== null) return unit.cost;
  if (sharing === size) return Math.floor(cost / size);
  const share = sharing === null ? null : Math.floor(cost / sharing);
  // The body was pruned.
  if (isCurrent && unit.tag !== FORGOTTEN)
    return unit.status === 'error' && (share !== null || successes > 0) ? 0 : share;
  if (successes === sharing) return 0;
  return successes + size - current === sharing ? share : null;
}

function runOf(note: string | null): string | null {
  const run = note === null ? null : (JSON.parse(note) as { readonly run?: unknown } | null)?.run;
  return typeof run === 'string' ? run : null;
}
