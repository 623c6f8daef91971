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

it('fault 12: a key refused in the middle pauses the job, sends nothing more, and a resume finishes it', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { tag: 'INVALID_API_KEY' })]);
  expect(await parked(job, 'key')).toMatch(/401/);
  // Only what was on its way when the refusal came: one less than may be in flight.
  expect(sentAfter(6)).toBeLessThanOrEqual(3);
  expect(sandbox.log().length).toBeLessThan(rows.length / 10);
  await job.resume();
  await expectWhole(job, rows);
});

it('fault 13: credits that end pause the job, and it goes on with new ones', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows);
  sandbox.setCredits(0.085);
  expect(await parked(job, 'credits')).toMatch(/402/);
  const refused = sandbox.log().find((entry) => entry.status === 402);
  expect(sentAfter(refused?.n ?? 0)).toBeLessThanOrEqual(3);
  expect(sandbox.bill().micros).toBe(80_000);
  sandbox.setCredits(1);
  await job.resume();
  await expectWhole(job, rows);
});

it('a pause by a person lets paid requests land and sends nothing until the resume', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows);
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(5);
  await job.pause();
  await parked(job, 'person');
  const sent = sandbox.log().length;
  expect(sent).toBeLessThan(rows.length / 10);
  expect(sandbox.stats().byStatus).toEqual({ 200: sent });
  expect(await job.totals(setting.host())).toMatchObject({ costMicros: sandbox.bill().micros, openMicros: 0 });
  await job.resume();
  await expectWhole(job, rows);
});

it('a cancel lets paid requests land, and the same start goes on from there', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows);
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(5);
  await job.handle.cancel();
  await expect(job.result()).rejects.toThrow(/cancelled/i);
  expect((await job.progress()).phase).toBe('cancelled');
  const { micros, units } = sandbox.bill();
  expect(units).toBeLessThan(rows.length);
  expect(await job.totals(setting.host())).toMatchObject({
    costMicros: micros,
    unitsLanded: units,
    openMicros: 0,
    unknown: [],
  });
  const summary = await (await job.again()).result();
  expect(summary).toMatchObject({ phase: 'done', unknownOutcomes: 0, costMicros: rows.length * 1000 - micros });
  expect(summary.totalCostMicros).toBe(sandbox.bill().micros);
  expect(boughtAgain(sandbox)).toEqual({});
  expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
});
