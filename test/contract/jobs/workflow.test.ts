import type { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { JobProgress } from '../../../src/core/job.js';
import { plainRows } from '../../support/jobs/folder.js';
import type { Job } from '../../support/jobs/host.js';
import { boughtAgain, openSetting, type Setting, type SettingOptions } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

const rows = plainRows(1200);

async function open(options: SettingOptions): Promise<Setting> {
  const setting = await openSetting(temporal, options);
  onTestFinished(() => setting.close());
  return setting;
}

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
  await expect
    .poll(async () => answers[answers.push(await job.progress()) - 1]?.phase, { timeout: 40_000, interval: 50 })
    .toBe('done');
  return answers;
}

function expectWhole({ sandbox }: Setting, { folder }: Job): void {
  expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(boughtAgain(sandbox)).toEqual({});
}

/** Progress never goes back, and never tells of more than there is. */
function expectSteady(answers: readonly JobProgress[]): void {
  const done = answers.map((answer) => answer.rowsDone);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(Math.max(...done)).toBeLessThanOrEqual(rows.length);
}

it('continuing as new loses and doubles nothing, and progress goes on counting through it', async () => {
  const setting = await open({ sandbox: { latencyMs: 2 } });
  const job = await setting.begin(rows);
  const answers = await watch(job);
  expect(await job.result()).toMatchObject({ phase: 'done', requests: 120, costMicros: 1_200_000 });
  expect((await job.progress()).requests).toBe(120);
  expectSteady(answers);
  const events = await eventsByRun(temporal.client, job.handle.workflowId, job.handle.firstExecutionRunId);
  expect(events.length).toBeGreaterThan(1);
  expect(Math.max(...events)).toBeLessThan(300);
  expectWhole(setting, job);
});
