import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { RowJobHandle } from '../../../src/worker/control/job-handle.js';
import { expectWhole, parked, refusal, sentAfter, soon } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting, type Setting, settingOfFile } from '../../support/jobs/setting.js';

const { temporal, setting, sandbox } = settingOfFile({ sandbox: { latencyMs: { min: 20, max: 80 }, credits: 10 } });

/** Number of jobs so far: each job gets rows that no other job uses. */
let used = 0;
const freshRows = (count = 200) => plainRows(count, 10_000 * ++used);
/** Rows for several seconds: a slice learns of a pause with its next heartbeat, within a second. */
const manyRows = () => freshRows(1000);

it('fault 12: a key refused in the middle pauses the job, sends nothing more, and a resume finishes it', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { tag: 'INVALID_API_KEY' })]);
  expect(await parked(temporal, job, 'key')).toMatch(/401/);
  // After the refusal only requests in flight arrive: at most one less than may be in flight.
  expect(sentAfter(sandbox, 6)).toBeLessThanOrEqual(3);
  expect(sandbox.log().length).toBeLessThan(rows.length / 10);
  await job.resume();
  await expectWhole(sandbox, job, rows);
  const ended = new RowJobHandle(temporal.client, 'ended', job.handle.workflowId);
  await expect(ended.pause()).rejects.toThrow('ended is done; there is nothing to pause.');
});

it('fault 13: used-up credits pause the job, and it continues with new ones', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows);
  sandbox.setCredits(0.085);
  expect(await parked(temporal, job, 'credits')).toMatch(/402/);
  const refused = sandbox.log().find((entry) => entry.status === 402);
  expect(sentAfter(sandbox, refused?.n ?? 0)).toBeLessThanOrEqual(3);
  expect(sandbox.bill().micros).toBe(80_000);
  sandbox.setCredits(1);
  await job.resume();
  await expectWhole(sandbox, job, rows);
});

it('a pause by a person lets paid requests land, loads them, and sends nothing until the resume', async () => {
  const rows = manyRows();
  const job = await setting.begin(rows);
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(5);
  await job.pause();
  await parked(temporal, job, 'person');
  const sent = sandbox.log().length;
  expect(sent).toBeLessThan(rows.length / 10);
  expect(sandbox.stats().byStatus).toEqual({ 200: sent });
  await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
  const loaded = await job.folder.query<{ url: string }>(
    "SELECT DISTINCT url FROM enriched_rows WHERE status = 'success'",
  );
  expect(loaded).toHaveLength(10 * sent);
  expect(await job.progress()).toMatchObject({ rows: rows.length, rowsDone: 10 * sent, failed: 0 });
  expect(await job.totals(setting.host())).toMatchObject({ costMicros: sandbox.bill().micros, openMicros: 0 });
  await job.resume();
  await expectWhole(sandbox, job, rows);
});

it('a slice that is paused in Temporal stops the requests of its job, until it is unpaused', async () => {
  const slow = await openSetting(temporal, { config: { rate: { qps: 20 } } });
  onTestFinished(() => slow.close());
  const rows = freshRows(400);
  const { job, unpause, execution } = await pausedSlice(slow, rows);
  await expect.poll(async () => (await job.progress()).phase, soon).toBe('paused');
  await expect.poll(async () => pendingCount(execution), soon).toBe(1);
  const sent = slow.sandbox.log().length;
  expect(sent).toBeLessThan(rows.length / 10);
  expect((await job.progress()).message).toContain('temporal activity unpause');
  await delay(2000);
  expect(slow.sandbox.log().length).toBe(sent);
  await unpause();
  await expectWhole(slow.sandbox, job, rows);
});

it('a slice that is paused in Temporal and ends before a heartbeat reports the pause stays open', async () => {
  const worker = { maxHeartbeatThrottleInterval: '1 minute', defaultHeartbeatThrottleInterval: '30s' } as const;
  const slow = await openSetting(temporal, { config: { rate: { qps: 20 } }, worker });
  onTestFinished(() => slow.close());
  const rows = freshRows(400);
  const { job, unpause, execution } = await pausedSlice(slow, rows);
  await expect.poll(async () => (await job.progress()).phase, soon).toBe('paused');
  await expect.poll(async () => pendingCount(execution), soon).toBe(1);
  await unpause();
  await expectWhole(slow.sandbox, job, rows);
});

/** Starts a job and pauses its first running slice in Temporal. */
async function pausedSlice(slow: Setting, rows: ReturnType<typeof manyRows>) {
  const job = await slow.begin(rows);
  await expect.poll(() => slow.sandbox.log().length, soon).toBeGreaterThan(5);
  const { workflowService } = temporal.client;
  const { namespace } = temporal;
  const execution = { workflowId: job.handle.workflowId };
  const { pendingActivities } = await workflowService.describeWorkflowExecution({ namespace, execution });
  expect(pendingActivities?.length).toBeGreaterThan(1);
  const one = { namespace, execution, identity: 'a person', id: pendingActivities?.[0]?.activityId };
  await workflowService.pauseActivity(one);
  return { job, execution, unpause: () => workflowService.unpauseActivity(one) };
}

async function pendingCount(execution: { readonly workflowId: string }): Promise<number | undefined> {
  const { namespace } = temporal;
  const found = await temporal.client.workflowService.describeWorkflowExecution({ namespace, execution });
  return found.pendingActivities?.length;
}

it.each(['pause', 'cancel'] as const)(
  'a %s stops the slices of its process at once, not with a heartbeat',
  async (how) => {
    // With the SDK's own options the next heartbeat of a slice is sent after eight seconds.
    const worker = { maxHeartbeatThrottleInterval: '1 minute', defaultHeartbeatThrottleInterval: '30s' } as const;
    const slow = await openSetting(temporal, { config: { rate: { qps: 20 } }, worker });
    onTestFinished(() => slow.close());
    const job = await slow.begin(manyRows());
    await expect.poll(() => slow.sandbox.log().length, soon).toBeGreaterThan(5);
    const sent = slow.sandbox.log().length;
    if (how === 'pause') {
      await job.pause();
      await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
    } else {
      await job.handle.cancel();
      await expect(job.result()).rejects.toThrow(/cancelled/i);
    }
    expect(slow.sandbox.log().length - sent).toBeLessThan(60);
  },
);

it('a cancel lets paid requests land, and the same start continues from there', async () => {
  const rows = manyRows();
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
