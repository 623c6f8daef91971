import type { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobProgress } from '../../src/core/job.js';
import { plainRows } from './folder.js';
import type { Job } from './host.js';
import { boughtAgain, openSetting, type Setting } from './setting.js';
import { startTemporal } from './temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startTemporal('limit.historyCount.suggestContinueAsNew=30');
});
afterAll(() => temporal?.teardown());

const rows = plainRows(400);

/** Number of events of each run of a workflow, from the first run on. */
async function eventsByRun(client: Client, workflowId: string, firstRunId: string): Promise<number[]> {
  const counts: number[] = [];
  let runId: string | undefined = firstRunId;
  while (runId) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    counts.push(events?.length ?? 0);
    runId = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return counts;
}

/** Asks for progress until the job ends; what it answered. */
async function watch(job: Job): Promise<JobProgress[]> {
  const answers: JobProgress[] = [];
  let ended = false;
  const result = job.result().finally(() => {
    ended = true;
  });
  while (!ended) answers.push(await job.progress());
  await result;
  return answers;
}

async function expectWhole({ folder, sandbox, stop }: Setting): Promise<void> {
  await stop();
  expect((await folder.warehouseRows()).map((row) => row.input)).toEqual(rows);
  expect(boughtAgain(sandbox)).toEqual({});
}

/** Progress never goes back, and never tells of more than there is. */
function expectSteady(answers: readonly JobProgress[]): void {
  const done = answers.map((answer) => answer.rowsDone);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(Math.max(...done)).toBeLessThanOrEqual(rows.length);
}

it('continuing as new loses and doubles nothing, and progress goes on counting through it', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 20 } });
  const job = await setting.start();
  const answers = await watch(job);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 40, costMicros: 400_000 });
  expect((await job.progress()).requests).toBe(40);
  expectSteady(answers);
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.length).toBeGreaterThan(2);
  expect(Math.max(...events)).toBeLessThan(100);
  await expectWhole(setting);
});

it('fault 36: no pause and no resume is lost while runs continue as new', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 10 } });
  const job = await setting.start();
  let pauses = 0;
  for (let rowsDone = 0; rowsDone < rows.length - 100; pauses++) {
    const wanted = rowsDone + 40;
    await expect
      .poll(async () => (await job.progress()).rowsDone, { timeout: 20_000, interval: 5 })
      .toBeGreaterThanOrEqual(wanted);
    await job.pause();
    const paused = await job.progress();
    expect(paused).toMatchObject({ phase: 'paused', pausedFor: 'person' });
    rowsDone = paused.rowsDone;
    await job.resume();
    expect((await job.progress()).pausedFor).toBeNull();
  }
  expect(pauses).toBeGreaterThan(2);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 40 });
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.length).toBeGreaterThan(2);
  await expectWhole(setting);
});

it('fault 34: a worker that keeps no workflow in memory ends with the same, and answers queries by replay', async () => {
  const setting = await openSetting(temporal, rows, { sandbox: { latencyMs: 20 }, worker: { maxCachedWorkflows: 0 } });
  const job = await setting.start();
  const answers = await watch(job);
  expect(answers.length).toBeGreaterThan(0);
  expectSteady(answers);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 40, costMicros: 400_000 });
  await expectWhole(setting);
});

it('fault 37: a job of many rows takes at most one event for a hundred of them', async () => {
  const count = 25_000;
  const setting = await openSetting(temporal, plainRows(count), {
    sandbox: { prebuilt: true, textBytes: 20 },
    config: { rate: { qps: 10_000 }, concurrency: 16 },
  });
  const job = await setting.start({ batch: 100 });
  expect((await job.result()).warehouse).toMatchObject({ rows: count, success: count, missing: 0 });
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.reduce((sum, one) => sum + one, 0) / count).toBeLessThanOrEqual(0.01);
});
