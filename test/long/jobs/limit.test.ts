import { expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { openJob, surroundings, vanished } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

it.each<[string, Partial<EnrichRequest>, number, number]>([
  ['search', { operation: 'search', template: { query: '{{name}}' }, batch: 1 }, 7, 13],
  [
    'agent',
    { operation: 'agent', template: { query: 'CEO of {{name}}' }, options: { effort: 'minimal' }, batch: 1 },
    7,
    13,
  ],
  [
    'agent with rows together',
    {
      operation: 'agent',
      rowsPerRun: 4,
      template: { query: 'Who leads each?' },
      options: { effort: 'minimal' },
      batch: 1,
    },
    2,
    3,
  ],
])('a limit works with %s', async (_, request, first, rest) => {
  const { folder, run } = openJob(here, plainRows(20));
  const tried = await run({ ...request, limit: 7 });
  expect(tried.plan).toMatchObject({ toBuy: first, rest: { rows: 13, toBuy: rest } });
  expect(tried.summary).toMatchObject({ requests: first, warehouse: { success: 7, missing: 13 } });
  const whole = await run(request);
  expect(whole.summary).toMatchObject({ requests: rest, warehouse: { success: 20, missing: 0, vanished: 0 } });
  expect(await vanished(folder)).toBe(0);
});

const wholeRequest = {
  ...{ urlColumn: null, delimiter: null, job: null, csv: null, options: {}, batch: 20 },
  ...{ retryFailed: false, rebuy: false },
};

it('a limit ends a paused run of the whole job, instead of resuming it', async () => {
  const all = plainRows(200);
  const { folder, run, config, bought } = openJob(here, all);
  const runtime = await openRuntime(config);
  const plan = await runtime.rows.plan({
    ...wholeRequest,
    input: folder.input,
    into: folder.into,
    maxCostDollars: 0.04,
  });
  const handle = await runtime.rows.start(plan);
  const paused = async () => (await handle.progress()).progress.pausedFor;
  await expect.poll(paused, { timeout: 40_000 }).toBe('budget');
  await runtime.close('drain');
  expect(bought()).toBe(40);
  // Slices run in parallel, so the budget may have paid for rows beyond the limit.
  const tried = await run({ limit: 60 });
  expect([20, 40, 60]).toContain(tried.plan.toBuy);
  expect(tried.summary).toMatchObject({ limit: 60, costMicros: tried.plan.toBuy * 1000 });
  expect(folder.outcomes().slice(0, 60)).toEqual(all.slice(0, 60).map((row) => [row, 'success']));
  expect([bought(), boughtAgain(here.sandbox)]).toEqual([40 + tried.plan.toBuy, {}]);
});
