import type { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect } from 'vitest';
import type { JobProgress } from '../../../src/core/row-job-schemas.js';
import { sentenceOf } from '../../../src/core/rows/pause.js';
import type { Fault, Sandbox } from '../../../src/sandbox/index.js';
import type { InputRow } from './folder.js';
import type { Job } from './host.js';
import { boughtAgain } from './setting.js';

export const soon = { timeout: 20_000, interval: 20 };

/** A fault that refuses the nth request. */
export const refusal = (nth: number, action: Partial<Extract<Fault['do'], { kind: 'status' }>>): Fault => ({
  when: { nth },
  do: { kind: 'status', status: 401, ...action },
});

/** Waits until the job is paused for this reason and none of its slices runs; returns the message. */
export async function parked({ client }: TestWorkflowEnvironment, job: Job, reason: string): Promise<string | null> {
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe(reason);
  await expect
    .poll(async () => {
      const { raw } = await client.workflow.getHandle(job.handle.workflowId).describe();
      return raw.pendingActivities?.length ?? 0;
    }, soon)
    .toBe(0);
  const { phase, message, next } = await job.progress();
  expect(phase).toBe('paused');
  return sentenceOf({ message, next });
}

/** Number of requests that arrived after request `n` was answered. */
export function sentAfter(sandbox: Sandbox, n: number): number {
  const answered = sandbox.log()[n - 1]?.doneAt ?? Number.POSITIVE_INFINITY;
  return sandbox.log().filter((entry) => entry.at > answered).length;
}

/** Waits for the end of the job. Expects each row in the CSV once and in order, and each URL bought once. */
export async function expectWhole(sandbox: Sandbox, job: Job, rows: readonly InputRow[]): Promise<void> {
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

/** Number of history events of each run of a workflow, from the first run on. */
export async function eventsByRun(client: Client, workflowId: string, firstRunId: string): Promise<number[]> {
  const counts: number[] = [];
  let runId: string | undefined = firstRunId;
  while (runId) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    counts.push(events?.length ?? 0);
    runId = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return counts;
}

/** Polls the progress until the job ends; returns all answers. */
export async function watch(job: Job): Promise<JobProgress[]> {
  const answers: JobProgress[] = [];
  await expect
    .poll(async () => answers[answers.push(await job.progress()) - 1]?.phase, { timeout: 40_000, interval: 50 })
    .toBe('done');
  return answers;
}

/** Expects that the number of rows done never falls and never exceeds the number of rows. */
export function expectSteady(answers: readonly JobProgress[], rows: number): void {
  const done = answers.map((answer) => answer.rowsDone);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(Math.max(...done)).toBeLessThanOrEqual(rows);
}
