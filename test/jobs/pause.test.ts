import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fault, Sandbox } from '../../src/sandbox/index.js';
import { plainRows } from './folder.js';
import type { Job } from './host.js';
import { boughtAgain, openSetting, type Setting } from './setting.js';
import { startTemporal } from './temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.teardown());

const rows = plainRows(200);
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
function sentAfter(sandbox: Sandbox, n: number): number {
  const answered = sandbox.log()[n - 1]?.doneAt ?? Number.POSITIVE_INFINITY;
  return sandbox.log().filter((entry) => entry.at > answered).length;
}

async function expectWhole({ folder, sandbox, stop }: Setting): Promise<void> {
  await stop();
  const loaded = await folder.warehouseRows();
  expect(loaded.map((row) => row.input)).toEqual(rows);
  expect(loaded.every((row) => row.status === 'success')).toBe(true);
  expect(boughtAgain(sandbox)).toEqual({});
  expect(folder.enriched().map(({ id }) => id)).toEqual(rows.map(([id]) => id));
}

it('fault 12: a key refused in the middle pauses the job, sends nothing more, and a resume finishes it', async () => {
  const setting = await openSetting(temporal, rows, {
    sandbox: { latencyMs: 20, faults: [refusal(6, { tag: 'INVALID_API_KEY' })] },
  });
  const job = await setting.start();
  expect(await parked(job, 'key')).toMatch(/401/);
  // Only what was on its way when the refusal came: one less than may be in flight.
  expect(sentAfter(setting.sandbox, 6)).toBeLessThanOrEqual(3);
  const sent = setting.sandbox.log().length;
  expect(sent).toBeLessThan(rows.length / 10);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', unknownOutcomes: 0, requests: rows.length / 10 });
  await expectWhole(setting);
});

it('fault 12: a resume that comes while refused slices still end is not undone by them', async () => {
  const setting = await openSetting(temporal, rows, {
    sandbox: { latencyMs: { min: 1, max: 150 }, faults: [refusal(6, { status: 403 })] },
  });
  const job = await setting.start();
  await expect.poll(async () => (await job.progress()).pausedFor, { timeout: 20_000, interval: 1 }).toBe('key');
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', unknownOutcomes: 0 });
  await expectWhole(setting);
});

it('fault 13: credits that end pause the job, and it goes on with new ones', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 20, credits: 0.085 } });
  const job = await setting.start();
  expect(await parked(job, 'credits')).toMatch(/402/);
  const refused = setting.sandbox.log().find((entry) => entry.status === 402);
  expect(sentAfter(setting.sandbox, refused?.n ?? 0)).toBeLessThanOrEqual(3);
  expect(setting.sandbox.bill().micros).toBe(80_000);
  setting.sandbox.setCredits(1);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', totalCostMicros: rows.length * 1000 });
  expect(setting.sandbox.bill().micros).toBe(rows.length * 1000);
  await expectWhole(setting);
});

it('a Retry-After above one hour pauses the job instead of waiting, and what has landed stays bought', async () => {
  const setting = await openSetting(temporal, rows, {
    sandbox: { latencyMs: 20, faults: [refusal(6, { status: 429, retryAfter: '7200' })] },
  });
  const job = await setting.start();
  expect(await parked(job, 'rate')).toMatch(/429/);
  expect(sentAfter(setting.sandbox, 6)).toBeLessThanOrEqual(3);
  // The block of a sandbox's limiter ends with its worker; a real one is kept on disk.
  await setting.anotherHost();
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', unknownOutcomes: 0 });
  await expectWhole(setting);
});

it('a pause by a person lets paid requests land and sends nothing until the resume', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 100 } });
  const job = await setting.start();
  await expect.poll(() => setting.sandbox.log().length, soon).toBeGreaterThan(5);
  await job.pause();
  await parked(job, 'person');
  const sent = setting.sandbox.log().length;
  expect(sent).toBeLessThan(rows.length / 10);
  expect(setting.sandbox.stats().byStatus).toEqual({ 200: sent });
  expect((await setting.totals()).costMicros).toBe(setting.sandbox.bill().micros);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', unknownOutcomes: 0, requests: rows.length / 10 });
  await expectWhole(setting);
});

it('a pause before the plan is made holds the job before its first request', async () => {
  const setting = await openSetting(temporal, rows);
  await setting.stop();
  const job = await setting.start();
  await job.pause();
  await setting.anotherHost();
  await parked(job, 'person');
  expect(setting.sandbox.log()).toEqual([]);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done' });
  await expectWhole(setting);
});

it('a cancel lets paid requests land, and the same start goes on from there', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 150 } });
  const job = await setting.start();
  await expect.poll(() => setting.sandbox.log().length, soon).toBeGreaterThan(5);
  await job.handle.cancel();
  await expect(job.result()).rejects.toThrow(/cancelled/i);
  const bill = setting.sandbox.bill();
  expect(bill.units).toBeLessThan(rows.length);
  expect(await setting.totals()).toMatchObject({
    costMicros: bill.micros,
    unitsLanded: bill.units,
    openMicros: 0,
    unknown: [],
  });
  const again = await setting.start();
  expect(await again.result()).toMatchObject({
    phase: 'done',
    totalCostMicros: rows.length * 1000,
    unknownOutcomes: 0,
  });
  expect(setting.sandbox.bill().requests).toBe(rows.length / 10);
  await expectWhole(setting);
});
