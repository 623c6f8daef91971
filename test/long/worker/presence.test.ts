import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { workflowNames } from '../../../src/core/rows/job-names.js';
import type { WorkerHolder } from '../../../src/core/workflow-result-schemas.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { takeQueueLocks } from '../../../src/worker/team/presence.js';
import { startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { codePath } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const folder = folderOfFile();
const elsewhere: WorkerHolder = { host: 'another-machine', pid: 4711, startTime: null, since: 0, store: null };
const temporal = temporalOfFile();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox?.close());

const lockOf = (taskQueue: string) => ({ id: `searchflow-worker-of-${taskQueue}`, held: 'is there', remedy: 'Go.' });

/** A lock of the task queue that a worker on another machine has taken. */
async function takenElsewhere(taskQueue: string) {
  const { id: workflowId } = lockOf(taskQueue);
  await temporal.client.workflow.start(workflowNames.workerPresence, {
    taskQueue,
    workflowId,
    args: [elsewhere],
    memo: { holder: elsewhere },
  });
}

/** Starts `searchflow worker` with a key and a folder of its own; it is ended with the test. */
function startWorker(name: string, env: Record<string, string>) {
  const running = startCommand(['worker'], {
    cwd: folder,
    env: {
      SEARCHFLOW_API_KEY: `key-of-${name}`,
      SEARCHFLOW_BASE_URL: sandbox.url,
      SEARCHFLOW_STATE_DIR: join(folder, name),
      XDG_STATE_HOME: join(folder, name),
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace as string,
      ...env,
    },
  });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

it('a queue lock is taken over from a worker on another machine that does not answer', async () => {
  await takenElsewhere('silent');
  const startedAt = Date.now();
  const { leave } = await takeQueueLocks(temporal.client, 'silent', [lockOf('silent')], null);
  expect(Date.now() - startedAt).toBeLessThan(15_000);
  const handle = temporal.client.workflow.getHandle(lockOf('silent').id);
  expect((await handle.describe()).memo?.holder).toMatchObject({ pid: process.pid });
  await leave();
  expect((await handle.describe()).status.name).toBe('TERMINATED');
});

it('a queue lock is left to a worker on another machine that answers', async () => {
  const worker = await Worker.create({
    connection: temporal.nativeConnection,
    namespace: temporal.namespace as string,
    taskQueue: 'living',
    workflowBundle: { codePath },
  });
  await worker.runUntil(async () => {
    await takenElsewhere('living');
    await expect(takeQueueLocks(temporal.client, 'living', [lockOf('living')], null)).rejects.toThrow(
      /^Another worker \(PID 4711 on another-machine, since 1970-\S+, with its own folder\) is there\. Go\.$/,
    );
  });
});

it('workers of one store share a queue, and no other worker joins while one of them is alive', async () => {
  const lockState = [lockOf('shared')];
  const worker = await Worker.create({
    connection: temporal.nativeConnection,
    namespace: temporal.namespace as string,
    taskQueue: 'shared',
    workflowBundle: { codePath },
  });
  const handle = temporal.client.workflow.getHandle(lockOf('shared').id);
  await worker.runUntil(async () => {
    for (let count = 0; count < 2; count++) {
      const { leave } = await takeQueueLocks(temporal.client, 'shared', lockState, 'postgres://db:5432/etl');
      await leave();
    }
    expect((await handle.describe()).status.name).toBe('RUNNING');
    for (const store of [null, 'postgres://db:5432/other']) {
      const refused = takeQueueLocks(temporal.client, 'shared', lockState, store);
      await expect(refused).rejects.toThrow(/^Another worker \(.*, with postgres:\/\/db:5432\/etl\) is there/);
    }
  });
  await (await takeQueueLocks(temporal.client, 'shared', lockState, null)).leave();
  expect((await handle.describe()).status.name).toBe('TERMINATED');
});

it('a worker that is stopped while Temporal grants its queue lock releases the lock', async () => {
  const slow = await slowProxy(temporal.address);
  const stopped = startWorker('stopped', { SEARCHFLOW_TASK_QUEUE: 'stopped', TEMPORAL_ADDRESS: slow.address });
  const { id } = lockOf('stopped');
  const lockState = async () => (await temporal.client.workflow.getHandle(id).describe()).status.name;
  // The server has started the lock's workflow, and the worker has not received the answer yet.
  await expect.poll(lockState, { timeout: 30_000, interval: 5 }).toBe('RUNNING');
  stopped.child.kill('SIGINT');
  expect(await stopped.ended).toBe(130);
  expect(await lockState()).toBe('TERMINATED');
});

/** A proxy to Temporal that delays each answer. */
async function slowProxy(address: string): Promise<{ readonly address: string }> {
  const [host, port] = address.split(':') as [string, string];
  const server = createServer((socket) => {
    const there = connect(Number(port), host);
    socket.pipe(there);
    there.on('data', (chunk) => setTimeout(() => socket.write(chunk), 250));
    for (const end of [socket, there])
      end.on('error', () => undefined).on('close', () => [socket, there].map((one) => one.destroy()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('without a store a second worker on the same queue refuses to start until the first has ended', async () => {
  const lockState = async () =>
    (await temporal.client.workflow.getHandle('searchflow-worker-of-first').describe()).status.name;
  const first = startWorker('a', { SEARCHFLOW_TASK_QUEUE: 'first' });
  await expect.poll(lockState, { timeout: 30_000, interval: 50 }).toBe('RUNNING');

  const sameQueue = startWorker('b', { SEARCHFLOW_TASK_QUEUE: 'first' });
  expect(await sameQueue.ended).toBe(2);
  expect(sameQueue.err()).toMatch(
    /Another worker \((PID )?\d+.* the task queue first.* would buy the same rows.*SEARCHFLOW_STORE/s,
  );

  first.child.kill('SIGKILL');
  await first.ended;
  const next = startWorker('d', { SEARCHFLOW_TASK_QUEUE: 'first' });
  const holder = async () =>
    (
      (await temporal.client.workflow.getHandle('searchflow-worker-of-first').describe()).memo?.holder as
        | WorkerHolder
        | undefined
    )?.pid;
  await expect.poll(holder, { timeout: 30_000, interval: 50 }).toBe(next.child.pid);
  next.child.kill('SIGINT');
  expect(await next.ended).toBe(130);
  expect(await lockState()).toBe('TERMINATED');
});

it('an idle worker leaves the rate of its key to a job in another folder, on this machine and on others', async () => {
  writeFileSync(join(folder, 'rows.csv'), 'url\nhttps://a.example/\nhttps://b.example/\n');
  // On another machine the worker has other state files, so only Temporal knows the idle worker.
  for (const machine of ['same', 'other']) {
    const idle = startWorker(`idle-${machine}`, {
      SEARCHFLOW_TASK_QUEUE: `idle-${machine}`,
      SEARCHFLOW_API_KEY: `key-${machine}`,
      XDG_STATE_HOME: join(folder, 'state'),
    });
    await idle.says(/Press Ctrl-C to stop/);
    const job = startCommand(['enrich', 'rows.csv', '--into', `${machine}.duckdb`, '--yes'], {
      cwd: folder,
      env: {
        SEARCHFLOW_API_KEY: `key-${machine}`,
        SEARCHFLOW_BASE_URL: sandbox.url,
        SEARCHFLOW_STATE_DIR: join(folder, `job-${machine}`),
        SEARCHFLOW_TASK_QUEUE: `job-${machine}`,
        XDG_STATE_HOME: join(folder, machine === 'same' ? 'state' : 'state-of-another'),
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace as string,
      },
    });
    onTestFinished(() => void job.child.kill('SIGKILL'));
    expect([await job.ended, job.err()]).toEqual([0, expect.stringContaining('Done: 2 rows')]);
  }
}, 60_000);
