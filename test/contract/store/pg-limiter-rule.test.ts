import { randomUUID } from 'node:crypto';
import { fc, test as property } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answered, ask, type BucketState, newBucket, refused } from '../../../src/core/limiter/rate-queue.js';
import { identifier, type Postgres } from '../../../src/postgres/index.js';
import { type AskStep, askCases, refusedCases } from '../../support/core/rate-queue-cases.js';
import { earliestCases, lateCases, reserveCases, resizeCases } from '../../support/core/ring-cases.js';
import { runs } from '../../support/property-runs.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

let stores: PgStores;
let postgres: Postgres;
let schema: string;
beforeAll(async () => {
  stores = await startPgStores();
  postgres = await stores.connect(stores.url());
  schema = identifier(postgres.address.schema);
});
afterAll(() => stores.stop());

async function value<T>(call: string, values: readonly unknown[]): Promise<T | undefined> {
  const [row] = await postgres.query<{ value: T }>(`SELECT ${schema}.${call} AS value`, values);
  return row?.value;
}

const anyStep = fc.record({
  wait: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 3000 })),
  who: fc.constantFrom('a', 'b', 'c', 'd'),
  weight: fc.constantFrom(1, 1, 1, 2, 3),
  count: fc.integer({ min: 1, max: 9 }),
  margin: fc.constantFrom(0.01, 0.02),
  queued: fc.constantFrom(0, 0, 0, 2),
  refused: fc.constantFrom(0, 0, 0, 1),
  on: fc.constantFrom<Record<string, number>>({ all: 4 }, { all: 30 }, { all: 30, part: 3 }, { part: 3 }),
});

describe('the rule of the limit, in SQL', () => {
  it.each(earliestCases)('earliest: %s', async (_, ring, now, weight, start, limit = 4, calls = 0, units = 0) => {
    const values = [ring, limit, 0.01, now, weight, calls, units];
    expect(await value('ring_earliest($1, $2, $3, $4, $5, $6, $7)', values)).toBeCloseTo(start, 6);
  });

  it.each(reserveCases)('reserve: %s', async (_, ring, limit, start, weight, after) => {
    expect(await value('ring_book($1, $2, $3, $4)', [ring, limit, start, weight])).toEqual(after);
  });

  it.each(lateCases)('late: %s', async (_, ring, planned, actual, weight, after) => {
    expect(await value('ring_late($1, $2, $3, $4)', [ring, planned, actual, weight])).toEqual(after);
  });

  it.each(resizeCases)('resize: %s', async (_, ring, limit, now, after) => {
    expect(await value('ring_resize($1, $2, $3)', [ring, limit, now])).toEqual(after);
  });

  it.each(refusedCases)('refused: %s', async (_, ring, limit, now, after, margin = 0.01, guard = 0, guardAt = 0) => {
    const team = randomUUID();
    const insert = `INSERT INTO ${schema}.limiter_buckets (scope, name, ring, margin, guard, guard_at)`;
    await postgres.query(`${insert} VALUES ($1, 'all', $2, $3, $4, $5)`, [team, ring, margin, guard, guardAt]);
    await value('limiter_refused($1, $2, $3, $4)', [[team], ['all'], [limit], now]);
    const rows = await postgres.query(`SELECT guard FROM ${schema}.limiter_buckets WHERE scope = $1`, [team]);
    expect(rows).toEqual([{ guard: expect.closeTo(after, 10) }]);
  });

  it.each(Object.entries(askCases))('asking: %s', async (_, steps) => {
    const team = randomUUID();
    for (const [index, { starts, comeAt, ...step }] of steps.entries()) {
      const answered = await asked(team, step);
      const rounded = { starts: answered.starts.map(Math.round), comeAt: Math.round(answered.comeAt) };
      expect(rounded, `step ${index} of ${step.who} at ${step.now}`).toEqual({ starts, comeAt });
    }
  });

  property.prop([fc.array(anyStep, { minLength: 10, maxLength: 40 })], { numRuns: runs(25) })(
    'equals the rule in memory for any requests of any callers',
    async (steps) => {
      const team = randomUUID();
      const buckets = new Map<string, BucketState>();
      let now = 0;
      for (const { wait, ...step } of steps) {
        now += wait;
        // The refused calls started earlier, so only a bucket that existed before this step can have refusals.
        const known = new Set(buckets.keys());
        const used = Object.entries(step.on).map(([name, limit]) => {
          const bucket = buckets.get(name) ?? newBucket(limit, now);
          buckets.set(name, bucket);
          return { name, bucket, limit };
        });
        const inSql = await asked(team, { ...step, now });
        for (let call = 0; call < step.refused; call++)
          for (const one of used) if (known.has(one.name)) refused(one, now);
        expect(inSql).toEqual(ask(used, now, Number.NEGATIVE_INFINITY, step));
      }
      const rows = await postgres.query<{ name: string; turns: unknown; ring: number[] }>(
        `SELECT name, ring, to_jsonb(turns) AS turns FROM ${schema}.limiter_buckets WHERE scope = $1`,
        [team],
      );
      for (const { name, ring, turns } of rows) expect(buckets.get(name)).toMatchObject({ ring, turns });
    },
  );
});

/** Calls the function in SQL at a time of the test's choice. */
async function asked(team: string, step: Omit<AskStep, 'starts' | 'comeAt'>): Promise<Answered> {
  const { now, who, on = { all: 4 }, weight = 1, count = 1, margin = 0.01, queued = 0, blockedUntil } = step;
  const names = weight > 0 ? Object.keys(on).sort() : [];
  if (blockedUntil !== undefined) {
    const block = `INSERT INTO ${schema}.limiter_blocks VALUES ($1, $2, 1e7, 'a block') ON CONFLICT (team) DO UPDATE SET until_ms = $2`;
    await postgres.query(block, [team, blockedUntil]);
  }
  const limits = names.map((name) => on[name]);
  for (let call = 0; call < (step.refused ?? 0); call++) {
    const refusal = [names.map(() => team), names, limits, now];
    await postgres.query(`SELECT ${schema}.limiter_refused($1::text[], $2::text[], $3::integer[], $4)`, refusal);
  }
  const values = [team, names.map(() => team), names, limits, who, weight, count, margin, queued, now];
  const [said] = await postgres.query<{ starts: number[]; come_at: number }>(
    `SELECT * FROM ${schema}.limiter_ask($1, $2::text[], $3::text[], $4::integer[], $5, $6, $7, $8, $9, $10)`,
    values,
  );
  return { starts: said?.starts ?? [], comeAt: said?.come_at ?? Number.NaN };
}
