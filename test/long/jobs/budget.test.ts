import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Journal } from '../../../src/core/purchase/journal.js';
import type { Spend } from '../../../src/core/purchase/spend.js';
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

it('a budget can be lowered and removed while the job runs', async () => {
  const rows = freshRows(600);
  const job = await setting.begin(rows, { maxCostDollars: 50, batch: 5 });
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(5);
  await job.resume({ maxCostDollars: 0.3 });
  await outOfMoney(job);
  expect(billed()).toBeLessThanOrEqual(300_000);
  expect(billed()).toBeGreaterThanOrEqual(285_000);
  expect((await job.progress()).maxCostMicros).toBe(300_000);
  await job.resume({ maxCostDollars: Number.NaN });
  expect((await job.progress()).pausedFor).toBe('budget');
  await job.resume({ maxCostDollars: 'none' });
  await expectWhole(job, rows);
});

it('the daily budget of the team stops jobs without a budget of their own, and reports when the day ends', async () => {
  const team = setting.host().parts.deps.journal as Journal & Spend;
  const { day } = await team.spent();
  const dayMicros = day.landedMicros + day.openMicros + day.unknownMicros + 200_000;
  await team.setCaps({ dayMicros, monthMicros: null });
  const rows = freshRows(400);
  const job = await setting.begin(rows);
  const message = await outOfMoney(job);
  expect(billed()).toBeLessThanOrEqual(200_000);
  expect(billed()).toBeGreaterThanOrEqual(190_000);
  expect(message).toMatch(/the day ends at \d{4}-\d\d-\d\dT00:00:00Z/);
  expect(message).toContain("raise --per-day of the team's limits; then run: searchflow resume");
  await team.setCaps({ dayMicros: null, monthMicros: null });
  await job.resume();
  await expectWhole(job, rows);
});
