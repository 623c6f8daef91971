import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, inject, it } from 'vitest';
import type { SearchflowPluginOptions } from '../../../dist/worker/index.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { endProcess } from '../../support/jobs/processes.js';
import { ofFile } from '../../support/of-file.js';
import { sharedPostgres } from '../../support/postgres.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const folder = folderOfFile();
const codePath = inject('teamWorkflows');
const script = fileURLToPath(new URL('../../support/worker/alone-worker.mjs', import.meta.url));
const OTHER_RECORD = /Another worker \(\d+@\S+\) polls the task queue \S+ with another record/;

const sandbox = ofFile(() => startSandbox({ failureRate: 0, qps: 1000, latencyMs: 100 }));
const workers = new Set<ChildProcess>();

afterEach(async () => {
  for (const worker of workers) await end(worker, 'SIGKILL');
  sandbox.reset();
});

const end = (worker: ChildProcess, signal: 'SIGKILL' | 'SIGTERM') => {
  workers.delete(worker);
  return endProcess(worker, signal);
};

/** A worker with the plugin, in a process of its own. */
function start(taskQueue: string, plugin: Partial<SearchflowPluginOptions>, withWorkflows: boolean) {
  const address = inject('temporalAddress');
  const options = { address, namespace: fileNamespace(), taskQueue, plugin: { origin: 'sandbox', ...plugin } };
  const config = JSON.stringify({ ...options, url: sandbox.url, ...(withWorkflows ? { codePath } : {}) });
  const child = spawn(process.execPath, [script, config], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  workers.add(child);
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit').then(() => said);
  return { child, ended, said: () => said };
}

/** Identities of the workers that poll the activities of a task queue, or have polled them. */
async function pollersOf(name: string): Promise<string[]> {
  const { pollers } = await temporal.client.workflowService.describeTaskQueue({
    ...{ namespace: fileNamespace(), taskQueue: { name }, taskQueueType: 2 },
  });
  return (pollers ?? []).map(({ identity }) => identity ?? '');
}
const polls = (taskQueue: string, count: number) =>
  expect.poll(() => pollersOf(taskQueue), { timeout: 30_000, interval: 50 }).toHaveLength(count);

/** Three searches for each of 20 queries, by workflows on a queue without the plugin. */
async function search60(taskQueue: string): Promise<void> {
  const worker = await Worker.create({
    connection: temporal.nativeConnection,
    ...{ namespace: fileNamespace(), taskQueue: `flows-of-${taskQueue}`, workflowBundle: { codePath } },
  });
  await worker.runUntil(() =>
    Promise.all(
      Array.from({ length: 60 }, (_, call) =>
        temporal.client.workflow.execute('searchOn', {
          ...{ taskQueue: `flows-of-${taskQueue}`, workflowId: randomUUID() },
          args: [taskQueue, `query ${call % 20} on ${taskQueue}`],
        }),
      ),
    ),
  );
}

async function workflowTypes(): Promise<string[]> {
  const types = new Set<string>();
  for await (const { type } of temporal.client.workflow.list()) types.add(type);
  return [...types].filter((type) => type !== 'searchOn');
}

describe.each([
  ['workers with workflows', true],
  ['workers that poll only activities', false],
] as const)('%s', (kind, withWorkflows) => {
  const queue = (name: string) => `${name}-${withWorkflows}`;
  const inFolder = (taskQueue: string, name: string) =>
    start(taskQueue, { stateDir: join(folder, `${taskQueue}-${name}`) }, withWorkflows);

  it('with folders of their own that start at the same time: at most one survives, and nothing is bought twice', async () => {
    const taskQueue = queue('at-once');
    const searched = search60(taskQueue);
    const both = [inFolder(taskQueue, 'a'), inFolder(taskQueue, 'b')];
    const refused = await Promise.race(both.map(({ ended }) => ended));
    expect(refused).toMatch(OTHER_RECORD);
    // Both may have been refused.
    const all = Promise.all(both.map(({ ended }) => ended));
    await Promise.race([searched, all.then(() => inFolder(taskQueue, 'a'))]);
    await searched;
    expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: 20 }, () => 1));
  });

  it('with one store share the purchases', async () => {
    const taskQueue = queue('store');
    const store = await sharedPostgres().database('pollers');
    const both = ['a', 'b'].map((name) => start(taskQueue, { store, stateDir: join(folder, name) }, withWorkflows));
    await polls(taskQueue, 2);
    await search60(taskQueue);
    expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: 20 }, () => 1));
    expect(both.map(({ child, said }) => [child.exitCode, said()])).toEqual([
      [null, ''],
      [null, ''],
    ]);
    expect(new Set((await pollersOf(taskQueue)).map((one) => one.split(' ')[1])).size).toBe(1);
    expect(`${await pollersOf(taskQueue)}`).not.toContain(new URL(store).password);
    const other = inFolder(taskQueue, 'c');
    expect(await other.ended).toMatch(OTHER_RECORD);
    expect(await workflowTypes()).toEqual([]);
  });

  it('without a record all run, beside a worker with one', async () => {
    const taskQueue = queue('none');
    const all = [{}, {}, {}, { stateDir: join(folder, taskQueue) }].map((one) => start(taskQueue, one, withWorkflows));
    await polls(taskQueue, 4);
    await search60(taskQueue);
    expect(all.map(({ child }) => child.exitCode)).toEqual([null, null, null, null]);
    expect((await pollersOf(taskQueue)).filter((one) => one.includes('searchflow:'))).toHaveLength(1);
    expect(await workflowTypes(), kind).toEqual([]);
  });
});

it('a worker with the plugin and a command with different folders refuse each other', async () => {
  const command = (taskQueue: string) =>
    startCommand(['worker'], {
      cwd: folder,
      env: {
        SEARCHFLOW_API_KEY: 'key',
        SEARCHFLOW_BASE_URL: sandbox.url,
        SEARCHFLOW_STATE_DIR: join(folder, `command-${taskQueue}`),
        SEARCHFLOW_TASK_QUEUE: taskQueue,
        XDG_STATE_HOME: folder,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: fileNamespace(),
      },
    });
  start('plugin-first', { stateDir: join(folder, 'plugin-first') }, false);
  await polls('plugin-first', 1);
  const refused = command('plugin-first');
  expect([await refused.ended, refused.err()]).toEqual([2, expect.stringMatching(OTHER_RECORD)]);

  const first = command('command-first');
  workers.add(first.child);
  await polls('command-first', 1);
  const plugin = start('command-first', { stateDir: join(folder, 'plugin-2') }, false);
  expect(await plugin.ended).toMatch(OTHER_RECORD);
});
