import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identifier, type Postgres } from '../../src/postgres/index.js';
import { bookCases, earliestCases, lateCases, resizeCases } from '../core/ring-cases.js';
import { askCases } from '../core/turns-cases.js';
import { type PgStores, startPgStores } from './pg-store.js';

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

describe('the rule of the limit, in SQL', () => {
  it.each(earliestCases)('earliest: $name', async ({ ring, limit = 4, now, weight, calls = 0, units = 0, start }) => {
    const values = [ring, limit, 0.01, now, weight, calls, units];
    expect(await value('ring_earliest($1, $2, $3, $4, $5, $6, $7)', values)).toBeCloseTo(start, 6);
  });

  it.each(bookCases)('book: $name', async ({ ring, limit, start, weight, after }) => {
    expect(await value('ring_book($1, $2, $3, $4)', [ring, limit, start, weight])).toEqual(after);
  });

  it.each(lateCases)('late: $name', async ({ ring, planned, actual, weight, after }) => {
    expect(await value('ring_late($1, $2, $3, $4)', [ring, planned, actual, weight])).toEqual(after);
  });

  it.each(resizeCases)('resize: $name', async ({ ring, limit, now, after }) => {
    expect(await value('ring_resize($1, $2, $3)', [ring, limit, now])).toEqual(after);
  });

  it.each(askCases)('asking: $name', async ({ steps }) => {
    const team = randomUUID();
    for (const [index, { now, who, on = { all: 4 }, starts, comeAt, ...step }] of steps.entries()) {
      const { weight = 1, count = 1, margin = 0.01, queued = 0, blockedUntil } = step;
      const names = weight > 0 ? Object.keys(on).sort() : [];
      if (blockedUntil !== undefined) {
        const block = `INSERT INTO ${schema}.limiter_blocks VALUES ($1, $2, 1e6, 'told') ON CONFLICT (team) DO UPDATE SET until_ms = $2`;
        await postgres.query(block, [team, blockedUntil]);
      }
      const limits = names.map((name) => on[name]);
      const values = [team, names.map(() => team), names, limits, who, weight, count, margin, queued, now];
      const [said] = await postgres.query<{ starts: number[]; come_at: number }>(
        `SELECT * FROM ${schema}.limiter_ask($1, $2::text[], $3::text[], $4::integer[], $5, $6, $7, $8, $9, $10)`,
        values,
      );
      const rounded = { starts: said?.starts.map(Math.round), comeAt: Math.round(said?.come_at ?? Number.NaN) };
      expect(rounded, `step ${index} of ${who} at ${now}`).toEqual({ starts, comeAt });
    }
  });
});
