import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { type InputRow, plainRows } from '../../support/jobs/folder.js';
import type { Job } from '../../support/jobs/host.js';
import { boughtAgain, openSetting, type Setting } from '../../support/jobs/setting.js';
import { startOwnTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let setting: Setting;
let sandbox: Sandbox;
beforeAll(async () => {
  // With this setting every job here continues as new a few times.
  temporal = await startOwnTemporal(['limit.historyCount.suggestContinueAsNew=40']);
  // A page that fails costs nothing, so the estimates are higher than the charges.
  setting = await openSetting(temporal, { sandbox: { latencyMs: { min: 5, max: 40 }, failureRate: 0.08 } });
  sandbox = setting.sandbox;
});
afterAll(async () => {
  await setting?.close();
  await temporal?.teardown();
});

/** Number of jobs so far: each job gets rows that no other job uses. */
let used = 0;
const freshRows = (count: number) => plainRows(count, 10_000 * ++used);
const soon = { timeout: 40_000, interval: 20 };
const billed = () => sandbox.bill().micros;

/** Waits until the job is paused for its budget and none of its slices runs; returns the message of the pause. */
async function outOfMoney(job: Job): Promise<string> {
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('budget');
  await expect
    .poll(async () => {
      const { raw } = await temporal.client.workflow.getHandle(job.handle.workflowId).describe();
      return raw.pendingActivities?.length ?? 0;
    }, soon)
    .toBe(0);
  const { phase, message } = await job.progress();
  expect(phase).toBe('paused');
  return message ?? '';
}

/** Waits for the end of the job. Expects each row once and in order, each URL bought once, and a cost that equals the bill. */
async function expectWhole(job: Job, rows: readonly InputRow[]): Promise<void> {
  const summary = await job.result();
  expect(summary).toMatchObject({ phase: 'done', unknownOutcomes: 0, totalCostMicros: billed() });
  expect(summary.warehouse).toMatchObject({ rows: rows.length, missing: 0 });
  expect(job.folder.outcomes().map(([row]) => row)).toEqual(rows);
  expect(boughtAgain(sandbox)).toEqual({});
}

it('fault M: a job stops close below its budget, names the command to resume, and ends with the exact rows after a raise', async () => {
  const rows = freshRows(1300);
  const job = await setting.begin(rows, { maxCostDollars: 1, batch: 20 });
  const message = await outOfMoney(job);
  const stopped = billed();
  expect(stopped).toBeLessThanOrEqual(1_000_000);
  expect(stopped).toBeGreaterThanOrEqual(999_000);
  const { job: id } = await job.progress();
  expect(message).toContain("of this run's budget of $1.00 is spent");
  expect(message).toContain(`searchflow resume ${id} --max-cost 2`);
  // A resume without more money pauses the job again, and no request is sent.
  const sent = sandbox.log().length;
  await job.resume();
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBeNull();
  await outOfMoney(job);
  expect(sandbox.log()).toHaveLength(sent);
  await job.resume({ maxCostDollars: 2 });
  await expectWhole(job, rows);
  expect(billed()).toBeGreaterThan(1_000_000);
});
