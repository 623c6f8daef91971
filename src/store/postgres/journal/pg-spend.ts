import type { PeriodSpend, Spend, SpendCaps, UsageGroup, UsageLine } from '../../../core/purchase/spend.js';
import { identifier, type Postgres } from '../../../postgres/index.js';
import { startOfDay } from '../../spend/spend-sums.js';

const groups: Readonly<Record<UsageGroup, string>> = {
  job: 'job',
  operation: 'operation',
  day: `to_char(day, 'YYYY-MM-DD') COLLATE "C"`,
};

export const dayOf = (at: number): string => new Date(startOfDay(at)).toISOString().slice(0, 10);

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
