import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { place, vanished } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
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
