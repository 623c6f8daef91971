import { join } from 'node:path';
import { type Client, ServiceError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import type { RowProgress } from '../../../src/core/rows/row-warehouse.js';
import { RowJobHandle, type RunningJob, runningFor, whyEndFirst } from '../../../src/worker/control/job-handle.js';
import { isReported, noteReported } from '../../../src/worker/control/monitor-control.js';
import { resultOf } from '../../../src/worker/control/workflow-handle.js';
import { fakeHandle, plan, progress } from '../../support/cli/fake-runtime.js';
import { folderOfTest } from '../../support/files/folders.js';

/** A gRPC error in the form in which the client throws it. */
function away(code: number): ServiceError {
  const cause = Object.assign(new Error('no answer'), { code, details: 'no answer', metadata: {} });
  return new ServiceError('Failed to get Workflow execution history', { cause });
}

/** A workflow handle; each read of its result gives the next of these answers. */
function handleOf(...answers: readonly unknown[]): WorkflowHandle {
  const left = [...answers];
  const result = async () => {
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { result } as unknown as WorkflowHandle;
}

it('fault 32: a result is waited for while the Temporal server restarts', async () => {
  expect(await resultOf(handleOf(away(14), 'done'), 'cancelled')).toBe('done');
});

it.each([
  ['a workflow that the server does not know', new WorkflowNotFoundError('none', 'w', undefined)],
  ['a request that the server refuses', away(7)],
])('%s is not retried', async (_, error) => {
  await expect(resultOf(handleOf(error, 'done'), 'cancelled')).rejects.toBe(error);
});

/** A client for which the workflow has this status; it records its calls. */
function clientOf(status: string) {
  const calls: string[] = [];
  const handle = {
    workflowId: 'searchflow-brands',
    signal: async (name: string) => void calls.push(`signal ${name}`),
    describe: async () => {
      calls.push('describe');
      return { status: { name: status } };
    },
    cancel: async () => void calls.push('cancel'),
  };
  return { client: { workflow: { getHandle: () => handle } } as unknown as Client, calls };
}

it.each([
  [true, ['signal handOver', 'describe', 'cancel']],
  [false, ['describe', 'cancel']],
])('the runs of a job are handed over before it is cancelled, if that is requested: %s', async (handOver, calls) => {
  const running = clientOf('RUNNING');
  await new RowJobHandle(running.client, 'brands').cancel({ handOver });
  expect(running.calls).toEqual(calls);
});

it('the cancellation of a job that has ended is refused', async () => {
  const ended = clientOf('COMPLETED');
  await expect(new RowJobHandle(ended.client, 'brands').cancel()).rejects.toThrow('brands is not running');
  expect(ended.calls).not.toContain('cancel');
});

it('the results that were reported are known to every later command of the folder, each by its run', async () => {
  const dir = folderOfTest();
  const folder = join(dir, 'state');
  expect(isReported(folder, 'run-1')).toBe(false);
  for (const run of ['run-1', 'run-22']) await noteReported(folder, run);
  const known = ['run-1', 'run-22', 'run-2'].map((run) => isReported(folder, run));
  expect(known).toEqual([true, true, false]);
});

/** The reason for which a job of generation g1 is started if its workflow is in this state. */
async function reason(
  running: { readonly status?: string; readonly memo?: object; readonly cancelRequested?: boolean } | null,
  changes: object = {},
) {
  const describe = async () => {
    if (running === null) throw new WorkflowNotFoundError('none', 'w', undefined);
    const { status = 'RUNNING', memo = { generation: 'g1' }, cancelRequested = false } = running;
    return { status: { name: status }, memo, raw: { workflowExtendedInfo: { cancelRequested } } };
  };
  const loadedSlices = async (): Promise<number[] | null> => [];
  const client = { workflow: { getHandle: () => ({ describe }) } } as unknown as Client;
  const found = await runningFor(client, fakeHandle());
  if (found === null) return 'nothing runs';
  return whyEndFirst({
    running: found,
    handle: fakeHandle(),
    staged: plan.staged,
    asksMore: false,
    shared: false,
    warehouse: () => ({ loadedSlices }),
    ...changes,
  } as unknown as RunningJob);
}

it('a job that runs with the same rows and options continues, and one that does not run is started', async () => {
  expect(await reason({})).toBeNull();
  expect(await reason({ memo: { generation: 'g1', host: null, limit: null } })).toBeNull();
  expect(await reason(null)).toBe('nothing runs');
  expect(await reason({ status: 'COMPLETED', memo: { generation: 'g0' } })).toBe('nothing runs');
});

it.each([
  ['other rows or options', { memo: { generation: 'g0' } }, {}, 'its rows or options differ'],
  ['a wish for fresh answers', {}, { asksMore: true }, 'its rows or options differ'],
  ['another limit', { memo: { generation: 'g1', limit: 5 } }, {}, 'its --limit differs'],
  ['a limit of its own', {}, { staged: { ...plan.staged, limit: 5 } }, 'its --limit differs'],
  ['a warehouse on another machine', { memo: { generation: 'g1', host: 'a' } }, {}, 'its warehouse is a file on a'],
  ['its cancel', { cancelRequested: true }, {}, 'was cancelled and is ended first'],
  ['a missing warehouse', {}, { warehouse: () => ({ loadedSlices: async () => null }) }, 'is missing. Rebuilding it'],
])('a running job is ended first for %s', async (_, running, changes, sentence) => {
  expect(await reason(running, changes)).toContain(sentence);
});

it('a warehouse counts as missing only if it could be opened and no worker is creating it', async () => {
  const missing = { loadedSlices: async () => null } as unknown as RowProgress;
  const busy = { loadedSlices: () => Promise.reject(new Error('busy')) } as unknown as RowProgress;
  const planning = fakeHandle({
    progress: async () => ({ progress: { ...progress, phase: 'planning' }, running: [] }),
  });
  expect(await reason({}, { warehouse: () => null })).toBeNull();
  expect(await reason({}, { warehouse: () => busy })).toBeNull();
  expect(await reason({}, { warehouse: () => missing, shared: true, handle: planning })).toBeNull();
  expect(await reason({}, { warehouse: () => missing, shared: true })).toContain('is missing');
});
