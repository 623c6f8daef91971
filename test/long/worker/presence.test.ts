import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { WorkerHolder } from '../../../src/core/workflow-result-schemas.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { temporalOfFile } from '../../support/temporal.js';

const folder = folderOfFile();
const temporal = temporalOfFile();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox?.close());

const lockOf = (taskQueue: string) => ({ id: `searchflow-worker-of-${taskQueue}`, held: 'is there', remedy: 'Go.' });

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
});
