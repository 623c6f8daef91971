import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/index.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { place, vanished } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let sandbox: Sandbox;
beforeAll(async () => {
  temporal = await openTemporal();
  sandbox = await startSandbox({ failureRate: 0, textBytes: 100 });
});
afterAll(async () => {
  await sandbox?.close();
  await temporal?.teardown();
});

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
])('works with %s', async (_, request, first, rest) => {
  const { folder, run } = place({ temporal, sandbox }, plainRows(20));
  const tried = await run({ ...request, limit: 7 });
  expect(tried.plan).toMatchObject({ toBuy: first, rest: { rows: 13, toBuy: rest } });
  expect(tried.summary).toMatchObject({ requests: first, warehouse: { success: 7, missing: 13 } });
  const whole = await run(request);
  expect(whole.summary).toMatchObject({ requests: rest, warehouse: { success: 20, missing: 0, vanished: 0 } });
  expect(await vanished(folder)).toBe(0);
});

const wholeRequest = {
  ...{ urlColumn: null, delimiter: null, job: null, csv: null, options: {}, batch: 20 },
  ...{ refreshAfterMs: null, retryFailed: false, rebuy: false },
};

it('ends a paused run of the whole job, instead of resuming it', async () => {
  const rows = plainRows(200);
  const { folder, run, config, bought } = place({ temporal, sandbox }, rows);
  const runtime = await openRuntime(config);
  const plan = await runtime.plan({ ...wholeRequest, input: folder.input, into: folder.into, maxCostDollars: 0.04 });
  const handle = await runtime.start(plan);
  const paused = async () => (await handle.progress()).progress.pausedFor;
  await expect.poll(paused, { timeout: 40_000 }).toBe('budget');
  await runtime.close('drain');
  expect(bought()).toBe(40);
  // Slices run in parallel: the budget may have been spent on rows beyond the limit.
  const tried = await run({ limit: 60 });
  expect([20, 40, 60]).toContain(tried.plan.toBuy);
  expect(tried.summary).toMatchObject({ limit: 60, costMicros: tried.plan.toBuy * 1000 });
  expect(folder.outcomes().slice(0, 60)).toEqual(rows.slice(0, 60).map((row) => [row, 'success']));
  expect([bought(), boughtAgain(sandbox)]).toEqual([40 + tried.plan.toBuy, {}]);
});
