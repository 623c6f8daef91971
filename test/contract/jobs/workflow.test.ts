import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { eventsByRun, expectSteady, watch } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import type { Job } from '../../support/jobs/host.js';
import { boughtAgain, openSetting, type Setting, type SettingOptions } from '../../support/jobs/setting.js';
import { startOwnTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  // A job of this size has twenty slices.
  temporal = await startOwnTemporal(['limit.historyCount.suggestContinueAsNew=40']);
});
afterAll(() => temporal?.teardown());

const rows = plainRows(4500);

async function open(options: SettingOptions): Promise<Setting> {
  const setting = await openSetting(temporal, options);
  onTestFinished(() => setting.close());
  return setting;
}

function expectWhole({ sandbox }: Setting, { folder }: Job): void {
  expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(boughtAgain(sandbox)).toEqual({});
}

it('continue-as-new neither loses nor repeats rows, and progress counts on through it', async () => {
  const setting = await open({ sandbox: { latencyMs: 2 } });
  const job = await setting.begin(rows);
  const answers = await watch(job);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 450, costMicros: 4_500_000 });
  expect((await job.progress()).requests).toBe(450);
  expectSteady(answers, rows.length);
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.length).toBeGreaterThan(1);
  expect(Math.max(...events)).toBeLessThan(300);
  expectWhole(setting, job);
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
