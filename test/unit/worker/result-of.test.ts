import { type Client, ServiceError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { jobHandle } from '../../../src/worker/control/job-handle.js';
import { resultOf } from '../../../src/worker/control/workflow-handle.js';

/** A gRPC error as the client throws it. */
function away(code: number): ServiceError {
  const cause = Object.assign(new Error('no answer'), { code, details: 'no answer', metadata: {} });
  return new ServiceError('Failed to get Workflow execution history', { cause });
}

/** A handle whose result is each of these in turn. */
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

/** A client with a workflow in this state, and the calls that reach it. */
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
  await jobHandle(running.client, 'brands').cancel({ handOver });
  expect(running.calls).toEqual(calls);
});

it('the cancellation of a job that has ended is refused', async () => {
  const ended = clientOf('COMPLETED');
  await expect(jobHandle(ended.client, 'brands').cancel()).rejects.toThrow('brands is not running');
  expect(ended.calls).toEqual(['describe']);
});
