import { expect, it, onTestFinished } from 'vitest';
import { eventsByRun, expectSteady, watch } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import type { Job } from '../../support/jobs/host.js';
import { boughtAgain, openSetting, type Setting, type SettingOptions } from '../../support/jobs/setting.js';
import { ofFile } from '../../support/of-file.js';
import { startOwnTemporal } from '../../support/temporal.js';

const temporal = ofFile(() => startOwnTemporal(['limit.historyCount.suggestContinueAsNew=30']));
const rows = plainRows(2400);

async function open(options: SettingOptions): Promise<Setting> {
  const setting = await openSetting(temporal, options);
  onTestFinished(() => setting.close());
  return setting;
}

function expectWhole({ sandbox }: Setting, { folder }: Job): void {
  expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(boughtAgain(sandbox)).toEqual({});
}

it('fault 36: no pause and no resume is lost while runs continue as new', async () => {
  const setting = await open({ sandbox: { latencyMs: 200 } });
  const job = await setting.begin(rows);
  let pauses = 0;
  for (let rowsDone = 0; rowsDone < rows.length - 800; pauses++) {
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
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 240 });
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.length).toBeGreaterThan(1);
  expectWhole(setting, job);
});

it('fault 34: a worker that keeps no workflow in memory has the same result, and answers queries by replay', async () => {
  const setting = await open({ sandbox: { latencyMs: 20 }, worker: { maxCachedWorkflows: 0 } });
  const job = await setting.begin(rows);
  const answers = await watch(job);
  expect(answers.length).toBeGreaterThan(0);
  expectSteady(answers, rows.length);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 240, costMicros: 2_400_000 });
  expectWhole(setting, job);
});

it('fault 37: a job of many rows takes at most one event for a hundred of them', async () => {
  // A file with more than 20,000 rows has larger slices.
  const count = 20_001;
  const setting = await open({
    sandbox: { textBytes: 20 },
    config: { rate: { qps: 10_000 }, concurrency: 16 },
  });
  const job = await setting.begin(plainRows(count), { batch: 100 });
  expect((await job.result()).warehouse).toMatchObject({ rows: count, success: count, missing: 0 });
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.reduce((sum, one) => sum + one, 0) / count).toBeLessThanOrEqual(0.01);
});

it('the activities of a job have a summary in Temporal', async () => {
  const setting = await open({});
  const job = await setting.begin(plainRows(200));
  await job.result();
  const { events } = await job.handle.fetchHistory();
  const summaries = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled, userMetadata }) =>
    scheduled ? [`${scheduled.activityType?.name}: ${Buffer.from(userMetadata?.summary?.data ?? '').toString()}`] : [],
  );
  expect(summaries.slice(0, 3)).toEqual([
    'stageInput: "read and check the input"',
    'openJob: "compare the rows with the warehouse"',
    'enrichSlice: "slice 1 of 2"',
  ]);
});
