import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { openJob } from '../../support/jobs/command.js';
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

it('--refresh-after buys again only older answers', async () => {
  const rows = plainRows(60);
  const { folder, run, bought } = openJob({ temporal, sandbox }, rows);
  await run();
  expect((await run({ refreshAfterMs: 3_600_000 })).plan.toBuy).toBe(0);
  expect(bought()).toBe(60);
  expect((await run({ refreshAfterMs: 0 })).plan.toBuy).toBe(60);
  expect(Object.values(boughtAgain(sandbox))).toEqual(Array(60).fill(1));
  expect(await folder.warehouseRows()).toHaveLength(60);
});
