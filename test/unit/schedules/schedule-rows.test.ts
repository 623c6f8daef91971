import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { EnrichRequest, JobPlan } from '../../../src/worker/config/runtime-types.js';
import { rowsWork } from '../../../src/worker/schedules/schedule-rows.js';
import { plan, request } from '../../support/cli/fake-runtime.js';

/** What a schedule of this request runs. `into`: the warehouse in the plan. */
function work(changes: Partial<EnrichRequest>, { shared = false, into = plan.staged.into } = {}) {
  const planned: JobPlan = { ...plan, request: { ...request, ...changes }, staged: { ...plan.staged, into } };
  return rowsWork(planned, { config: { origin: 'https://api.exa.ai' }, shared } as Parameters<typeof rowsWork>[1]);
}

it('a schedule keeps the whole request, with the names that its runs need on any folder', () => {
  const options: Partial<EnrichRequest> = {
    operation: 'agent',
    defaultScheme: 'https',
    template: { query: '{{name}}' },
    rowsPerRun: 7,
    delimiter: ';',
    encoding: 'windows-1252',
    sql: 'FROM brands',
    job: 'brands',
    options: { text: true },
    ...{ batch: 9, refreshAfterMs: 5000, maxCostDollars: 2, maxRunSeconds: 90 },
  };
  expect(work({ ...options, csv: 'out.csv', retryFailed: true })).toEqual({
    ...{ workflow: 'enrichCsv', workflowId: 'searchflow-brands-1' },
    input: {
      ...{ ...options, input: '/data/brands.csv', into: '/data/out/brands.duckdb', origin: 'https://api.exa.ai' },
      ...{ urlColumn: 'source', csv: resolve('out.csv'), retryFailed: true },
    },
  });
  expect(work({}, { shared: true }).input).toEqual({
    ...{ input: '/data/brands.csv', into: '/data/out/brands.duckdb', origin: 'https://api.exa.ai' },
    ...{ host: hostname(), options: {}, batch: 100, urlColumn: 'source' },
  });
});

it.each<[Partial<EnrichRequest>, RegExp]>([
  [{ input: '-' }, /^A schedule needs a file/],
  [{ reparse: true }, /^--reparse cannot be scheduled/],
  [{ rebuy: true }, /^--rebuy cannot be scheduled.*--refresh-after/],
  [{ limit: 5 }, /^--limit cannot be scheduled/],
])('a schedule refuses what is for a single run: %j', (changes, refusal) => {
  expect(() => work(changes)).toThrow(refusal);
});

it('a schedule refuses a CSV that no machine would own', () => {
  const into = 'postgres://127.0.0.1:5432/dw';
  expect(() => work({ csv: 'out.csv' }, { shared: true, into })).toThrow(
    /^--csv cannot be scheduled with a shared store/,
  );
  expect(work({ csv: 'out.csv' }, { shared: true }).input).toMatchObject({ csv: resolve('out.csv') });
  expect(work({ csv: 'out.csv' }, { into }).input).toMatchObject({ csv: resolve('out.csv') });
});
