import { join } from 'node:path';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { type Alert, type AlertDelivery, alertTypes } from '../../../src/core/alerts/alert.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { startedByCommand, WorkOwners } from '../../../src/worker/control/work-owners.js';
import { noteEndOfWalk } from '../../../src/worker/control/workflow-handle.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import type { Store } from '../../../src/worker/store/store.js';
import { alertProblems } from '../../support/alerts/schema.js';
import { folderOfFile } from '../../support/files/folders.js';
import { jobEntry } from '../../support/jobs/job-entry.js';
import { temporalOfFile } from '../../support/temporal.js';

// No worker runs in these tests, because the owner of a job can be found without one.
const temporal = temporalOfFile();
const root = folderOfFile();

const now = Promise.resolve();
let folders = 0;

/** A folder in which processes own jobs and walks. Each process has the name of its command. */
function openFolder() {
  const dir = join(root, `f${++folders}`, 'jobs');
  const taskQueue = `queue-${folders}`;
  /** The alerts whose deliveries were started. */
  const alerts: Alert[] = [];
  const { connection, options } = temporal.client;
  const noted: WorkflowClientInterceptor = {
    async startWithDetails(input, next) {
      const started = await next(input);
      alerts.push((input.options.args[0] as AlertDelivery).alert);
      return started;
    },
  };
  const client = new Client({ connection, namespace: options.namespace, interceptors: { workflow: [noted] } });
  const process = () => {
    const said: string[] = [];
    const entries = new FolderJobs(dir);
    const settings = { url: null, secret: null, command: ['/bin/true'], on: alertTypes, lagMs: null };
    const config = { taskQueue, alerts: settings, origin: 'sandbox', say: (text: string) => said.push(text) };
    const unknown = [0, Date.now() + 60_000].map((intendedAt) => ({ intendedAt, estimateMicros: 1000 }));
    const journal = async () => ({ totals: async () => ({ costMicros: 0, unknown }) });
    const store = { entries, journal, shared: false } as unknown as Store;
    const parts = { store, config: config as unknown as RuntimeConfig };
    const owners = new WorkOwners(parts.config, store, async () => client);
    const acts = { alerts: () => alerts, owned: () => entries.owned(), die: () => entries.close() };
    return { said, owners, entries, parts, client, ...acts };
  };
  /** Starts a workflow. The workflow of a command has a memo that says so; `{}` is the memo of a schedule. */
  const start = async (job: string, type = 'enrichCsv', memo: Record<string, unknown> = startedByCommand) => {
    const workflowId = `searchflow-${job}-${folders}`;
    const handle = await temporal.client.workflow.start(type, { workflowId, taskQueue, args: [{}], memo });
    const end = async () => {
      const { status } = await handle.describe();
      const { events } = await handle.fetchHistory();
      return { status: status.name, reason: events?.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason };
    };
    return { work: { job, workflowId }, end };
  };
  return { process, start };
}

const RUNNING = { status: 'RUNNING', reason: undefined };
const terminated = (reason: string) => ({ status: 'TERMINATED', reason });

describe('fault 63: work whose command died', () => {
  /** A job that a command started; the command has died. */
  async function orphan() {
    const folder = openFolder();
    const { work, end } = await folder.start('big');
    const dead = folder.process();
    await dead.owners.claim(work, () => ({}));
    return { ...folder, work, end, dead };
  }

  it('is ended and named once by the next processes, and its name is free', async () => {
    const { process, end, dead, work } = await orphan();
    dead.die();
    const [one, two] = [process(), process()];
    await Promise.all([one.owners.endOrphans(), two.owners.endOrphans()]);
    expect(await end()).toEqual(terminated('command-ended'));
    expect([...one.said, ...two.said]).toEqual([
      'Stopped big: its command ended. Paid results are kept. Its command resumes it.',
    ]);
    expect(await one.owned()).toEqual([]);
    expect((await two.owners.claim(work, () => ({}))).owner).toBeNull();
  });

  it('ends as cancelled if it was cancelled', async () => {
    const { process, end, work, dead } = await orphan();
    dead.die();
    await temporal.client.workflow.getHandle(work.workflowId).cancel();
    const worker = process();
    await worker.owners.endOrphans();
    expect([await end(), worker.said, await worker.owned()]).toEqual([RUNNING, [], []]);
  });

  it('belongs to a command that is started again, and to the command that watched it, and ends with that command', async () => {
    const { process, end, dead, work } = await orphan();
    const watcher = process();
    expect((await watcher.owners.claim(work, () => ({}))).owner).not.toBeNull();
    await watcher.owners.stop('command-stopped', now);
    expect(await end()).toEqual(RUNNING);
    const [successor, other] = [process(), process()];
    for (const one of [successor, other]) await one.owners.claim(work, () => ({}));
    dead.die();
    watcher.die();
    await process().owners.endOrphans();
    expect(await end()).toEqual(RUNNING);
    expect(await other.owned()).toMatchObject([{ living: [successor.entries.owner(), other.entries.owner()] }]);
    await successor.owners.stop('command-stopped', now);
    expect(await end()).toEqual(terminated('command-stopped'));
    expect(() => successor.owners.check()).toThrow('This command is stopping');
  });

  it('is ended before a command that is started again gets it', async () => {
    const { process, end, dead, work } = await orphan();
    dead.die();
    const [ending, again] = [process(), process()];
    const { workflowId } = work;
    await ending.entries.claim(workflowId, () => ({
      owned: { ...work, owners: [ending.entries.owner()], isEnding: true as const },
    }));
    const claimed = again.owners.claim(work, () => ({}));
    expect(await again.owners.ownerOf(work)).toBeNull();
    await ending.owners.endOrphans();
    expect((await claimed).owner).toBeNull();
    expect(await end()).toEqual(terminated('command-ended'));
  });
});

describe('a job whose command ended before its workflow was started', () => {
  const workflowId = () => `searchflow-never-${folders}`;
  async function claimed() {
    const folder = openFolder();
    const command = folder.process();
    const work = { job: 'never', workflowId: workflowId() };
    const state = { phase: 'running' as const, since: Date.now() };
    await command.owners.claim(work, () => ({ entry: { job: 'never', now: { ...jobEntry('never'), state } } }));
    return { ...folder, command, state: () => command.entries.get('never').then((entry) => entry?.state) };
  }

  it('is stopped when that command closes', async () => {
    const { command, state } = await claimed();
    await command.owners.close();
    expect(await state()).toMatchObject({ phase: 'stopped', message: 'its command ended' });
  });

  it('keeps its state if a run has begun and ended since then', async () => {
    const { command, state, start } = await claimed();
    const { work } = await start('never');
    await temporal.client.workflow.getHandle(work.workflowId).terminate();
    await command.owners.close();
    expect(await state()).toMatchObject({ phase: 'running' });
    expect(await command.owned()).toEqual([]);
  });

  it('is stopped by the next process if that command was killed', async () => {
    const { process, command } = await claimed();
    command.die();
    const next = process();
    await next.owners.endOrphans();
    expect((await next.entries.get('never'))?.state).toMatchObject({ phase: 'stopped' });
    expect(await next.owned()).toEqual([]);
  });

  it('reports the requests in flight, not older ones, if that command was killed later', async () => {
    const { process, command, start } = await claimed();
    await start('never');
    command.die();
    const next = process();
    await next.owners.endOrphans();
    const data = { outcomes: 1, mostDollars: 0.001 };
    expect(next.alerts()).toMatchObject([{ type: 'job.stopped' }, { type: 'job.unknown_outcomes', data }]);
    expect(next.alerts().flatMap(alertProblems)).toEqual([]);
  });
});

describe('a job whose workflow ended in Temporal while no worker was alive', () => {
  /** A running job of the workers, whose workflow is terminated with `reason`. */
  async function ended(reason: string | undefined) {
    const folder = openFolder();
    const { work } = await folder.start(`night-${folders}`, 'enrichCsv', {});
    const handle = temporal.client.workflow.getHandle(work.workflowId);
    const { raw } = await handle.describe();
    const { entries } = folder.process();
    await entries.put({ ...jobEntry(work.job), workflowId: work.workflowId, schedule: 'nightly' });
    await handle.terminate(reason);
    return { ...folder, ...work, run: raw.workflowExecutionInfo?.firstRunId };
  }

  it('is failed, and reported once by any number of workers', async () => {
    const { process, job, run } = await ended('no longer wanted');
    const workers = [process(), process(), process()];
    await Promise.all(workers.map(({ owners }) => owners.noteEnded()));
    const [worker] = workers;
    expect((await worker?.entries.get(job))?.state).toEqual({
      ...{ phase: 'failed', message: 'its workflow was terminated in Temporal', since: expect.any(Number) },
    });
    const alerts = worker?.alerts() ?? [];
    expect(alerts).toMatchObject([
      {
        type: 'job.failed',
        text: `Job ${job} failed (Terminated). Its reason: searchflow status ${job}`,
        data: { job, kind: 'rows', run, scheduled: true, failure: 'Terminated' },
      },
    ]);
    expect(alerts.flatMap(alertProblems)).toEqual([]);
  });

  it('is stopped if its command terminated it', async () => {
    const { process, job } = await ended('command-stopped');
    const worker = process();
    await worker.owners.noteEnded();
    expect((await worker.entries.get(job))?.state).toMatchObject({
      ...{ phase: 'stopped', message: 'its command was stopped' },
    });
    expect(worker.alerts()).toMatchObject([{ type: 'job.stopped', data: { job, reason: 'person' } }]);
  });

  it('is left to its command while that command is alive', async () => {
    const { process, job, workflowId } = await ended(undefined);
    const [command, worker] = [process(), process()];
    await command.owners.claim({ job, workflowId }, () => ({}));
    await worker.owners.noteEnded();
    expect((await worker.entries.get(job))?.state).toEqual({ phase: 'running', since: 0 });
    expect(worker.alerts()).toEqual([]);
  });
});

it('a walk that ended in Temporal is reported once; another name and a running walk are not', async () => {
  const { process, start } = openFolder();
  const { work } = await start('events', 'syncEvents', {});
  const { parts, entries, alerts, client } = process();
  await entries.putWalk({ ...work, origin: 'sandbox', stream: 'sync', into: '/x.duckdb' });
  const note = (job: string) => noteEndOfWalk(parts, client, job);
  await note('events');
  await temporal.client.workflow.getHandle(work.workflowId).terminate();
  for (const job of ['events', 'events', 'others']) await note(job);
  expect(alerts()).toMatchObject([
    { text: 'Walk events failed (Terminated). Its reason: searchflow status events', data: { kind: 'walk' } },
  ]);
});

it('a command only watches the run of a schedule, and keeps running jobs when it closes', async () => {
  const { process, start } = openFolder();
  const [scheduled, own] = [await start('nightly', 'enrichCsv', {}), await start('mine')];
  const command = process();
  for (const { work } of [scheduled, own]) {
    await command.owners.claim(work, () => ({}));
    await command.owners.leaveToWorkers(work);
  }
  expect(await command.owners.owned()).toMatchObject([own.work]);
  await command.owners.close();
  expect(await command.owned()).toMatchObject([own.work]);
  await temporal.client.workflow.getHandle(own.work.workflowId).terminate();
  await command.owners.close();
  expect(await command.owned()).toEqual([]);
});
