import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fault, Sandbox } from '../../../src/sandbox/index.js';
import { type InputRow, plainRows } from '../../support/jobs/folder.js';
import type { Job } from '../../support/jobs/host.js';
import { boughtAgain, openSetting, type Setting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let setting: Setting;
let sandbox: Sandbox;
beforeAll(async () => {
  temporal = await openTemporal();
  setting = await openSetting(temporal, { sandbox: { latencyMs: { min: 20, max: 80 }, credits: 1 } });
  sandbox = setting.sandbox;
});
afterAll(async () => {
  await setting?.close();
  await temporal?.teardown();
});

/** Rows that no other test has. */
let used = 0;
const freshRows = () => plainRows(200, 1000 * ++used);
const soon = { timeout: 20_000, interval: 20 };

const refusal = (nth: number, action: Partial<Extract<Fault['do'], { kind: 'status' }>>): Fault => ({
  when: { nth },
  do: { kind: 'status', status: 401, ...action },
});

/** Waits until the job is parked: paused, and no slice of it left running. */
async function parked(job: Job, reason: string): Promise<string | null> {
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe(reason);
  await expect
    .poll(async () => {
      const { raw } = await temporal.client.workflow.getHandle(job.handle.workflowId).describe();
      return raw.pendingActivities?.length ?? 0;
    }, soon)
    .toBe(0);
  const { phase, message } = await job.progress();
  expect(phase).toBe('paused');
  return message;
}

/** Requests that came after request `n` was answered. */
function sentAfter(n: number): number {
  const answered = sandbox.log()[n - 1]?.doneAt ?? Number.POSITIVE_INFINITY;
  return sandbox.log().filter((entry) => entry.at > answered).length;
}

/** The job ends, each row is there once and in order, and each URL was bought once. */
async function expectWhole(job: Job, rows: readonly InputRow[]): Promise<void> {
  const calls = rows.length / 10;
  expect(await job.result()).toMatchObject({
    phase: 'done',
    requests: calls,
    costMicros: rows.length * 1000,
    unknownOutcomes: 0,
    warehouse: { rows: rows.length, success: rows.length, missing: 0 },
  });
  expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(sandbox.bill()).toMatchObject({ requests: calls, units: rows.length });
  expect(boughtAgain(sandbox)).toEqual({});
}

it('fault 12: a resume that comes while refused slices still end is not undone by them', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { status: 403 })]);
  await expect.poll(async () => (await job.progress()).pausedFor, { timeout: 20_000, interval: 1 }).toBe('key');
  await job.resume();
  await expectWhole(job, rows);
});

it('a pause before the plan is made holds the job before its first request', async () => {
  const rows = freshRows();
  await setting.host().stop();
  const job = await setting.begin(rows);
  await job.pause();
  await setting.anotherHost();
  await parked(job, 'person');
  expect(sandbox.log()).toEqual([]);
  await job.resume();
  await expectWhole(job, rows);
});

it('a Retry-After above one hour pauses the job instead of waiting, and what has landed stays bought', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { status: 429, retryAfter: '7200' })]);
  expect(await parked(job, 'rate')).toMatch(/429/);
  expect(sentAfter(6)).toBeLessThanOrEqual(3);
  // The block of a sandbox's limiter ends with its worker; a real one is kept on disk.
  await setting.anotherHost();
  await job.resume();
  await expectWhole(job, rows);
});
