import { ServiceError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
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
