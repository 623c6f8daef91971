import { hostname } from 'node:os';
import { type Client, QueryNotRegisteredError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { expect, it } from 'vitest';
import type { WorkerHolder } from '../../../src/core/workflow-result-schemas.js';
import { ownIdentity } from '../../../src/files/process-identity.js';
import { queueLockOf, takeQueueLocks } from '../../../src/worker/team/presence.js';

const away = (code: number) =>
  new ServiceError('no answer', { cause: Object.assign(new Error(), { code, details: '', metadata: {} }) });

/** A Temporal server with the presence of a worker. `answer`: how that worker answers a query. */
function server(holder: Partial<WorkerHolder> | null, answer: 'lives' | Error = 'lives') {
  const started: { readonly id: string; readonly holder: WorkerHolder }[] = [];
  const ended: string[] = [];
  let [there, runs] = [holder, 0];
  const client = {
    withDeadline: (_: number, work: () => unknown) => work(),
    workflow: {
      start: async (_: string, { workflowId, memo }: { workflowId: string; memo: { holder: WorkerHolder } }) => {
        if (there !== null) throw new WorkflowExecutionAlreadyStartedError('running', workflowId, 'workerPresence');
        there = memo.holder;
        started.push({ id: workflowId, holder: memo.holder });
        return { firstExecutionRunId: `run-${++runs}` };
      },
      getHandle: (id: string, runId?: string) => ({
        describe: async () => {
          if (there === null) throw new WorkflowNotFoundError('none', id, undefined);
          return { runId: 'run-0', memo: { holder: there }, status: { name: 'RUNNING' } };
        },
        query: async () => {
          if (answer instanceof Error) throw answer;
        },
        terminate: async () => {
          ended.push(`${id} ${runId}`);
          there = null;
        },
      }),
    },
  };
  return { client: client as unknown as Client, started, ended };
}

const me = ownIdentity();
const id = 'searchflow-worker-of-rows';
const lock = queueLockOf({ taskQueue: 'rows' });
const take = (client: Client, store: string | null = null) => takeQueueLocks(client, 'rows', [lock], store);
const other = { host: 'elsewhere', pid: me.pid, startTime: me.startTime, since: 0, store: null };
const dead = { ...other, host: hostname(), pid: 2 ** 22 + 1 };

it('a queue lock names its worker, and ends with it unless the workers of a store hold it together', async () => {
  const alone = server(null);
  const { leave } = await take(alone.client);
  expect(alone.started).toEqual([
    { id, holder: expect.objectContaining({ host: hostname(), pid: me.pid, store: null }) },
  ]);
  await leave();
  expect(alone.ended).toEqual([`${id} run-1`]);
  const shared = server(null);
  await (await take(shared.client, 'postgres://h/d')).leave();
  expect(shared.started[0]?.holder.store).toBe('postgres://h/d');
  expect(shared.ended).toEqual([]);
});

it('a queue lock of the same store is shared, and that of another store or folder is refused', async () => {
  const shared = server({ ...other, store: 'postgres://h/d' });
  await (await take(shared.client, 'postgres://h/d')).leave();
  expect([shared.started, shared.ended]).toEqual([[], []]);
  await expect(take(shared.client, 'postgres://h/x')).rejects.toThrow(
    /^Another worker \(PID .* on elsewhere, .* with postgres:\/\/h\/d\)/,
  );
  await expect(take(shared.client)).rejects.toThrow('is running on the task queue rows');
  await expect(take(server(other).client, 'postgres://h/d')).rejects.toThrow('with its own folder');
});

it.each([
  ['a worker on this machine whose process has ended', dead, 'lives', true],
  ['a worker of a store on this machine that answers', { ...dead, store: 'x' }, 'lives', false],
  ['a worker on another machine that answers', { ...other, pid: dead.pid }, 'lives', false],
  ['a worker on another machine that knows no such query', other, new QueryNotRegisteredError('no', 3), false],
  ['a worker on another machine without an answer', other, away(9), true],
] as const)('the queue lock of %s is taken over: %j', async (_, holder, answer, isTaken) => {
  const { client, started, ended } = server(holder, answer);
  const error = await take(client).then(
    () => null,
    (refused: Error) => refused,
  );
  expect([error === null, started.length, ended]).toEqual(isTaken ? [true, 1, [`${id} run-0`]] : [false, 0, []]);
});
