import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { FolderJobs } from '../../../dist/worker/store/folder-jobs.js';
import type { JobEntry, JobState } from '../../../src/core/job-entry-schemas.js';
import { RowJobHandle, WalkHandle } from '../../../src/worker/control/job-handle.js';
import { statusOf } from '../../../src/worker/runtime/job-status.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { AnsweredActivities } from '../../support/jobs/answered-activities.js';
import { soon } from '../../support/jobs/checks.js';
import { serverOf } from '../../support/jobs/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { jobEntry, noRecords } from '../../support/jobs/job-entry.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

let jobs = 0;

function walkStatus(job: string, workflowId = `searchflow-${job}`, abandoned = false, ledger = noRecords.ledger) {
  const walk = { job, workflowId, stream: 'sync', origin: 'sandbox', into: '/x.duckdb' };
  const owned = abandoned ? [{ workflowId, job, owners: [], living: [] }] : [];
  return statusOf(walk, { ...noRecords, client: temporal.client, owned, ledger });
}

/** The entry of a job with a recorded state, and the workflow of the job, which no worker runs. */
async function begin(state?: JobState, completed: string | null = null) {
  const job = `status-${++jobs}`;
  const workflowId = `searchflow-${job}`;
  const entry = { staged: { job, name: 'q3', generation: 'g' }, state, completed } as unknown as JobEntry;
  const handle = await temporal.client.workflow.start('enrichCsv', { workflowId, taskQueue: job, args: [{}] });
  const ask = (how: { readonly away?: boolean; readonly owners?: readonly object[] | null } = {}) => {
    const { away = false, owners = null } = how;
    const owned = owners ? [{ workflowId, job, owners: [], living: owners }] : [];
    return statusOf(entry, { ...noRecords, client: away ? null : temporal.client, owned });
  };
  return { job, handle, ask };
}

const paused: JobState = { phase: 'paused', reason: 'budget', message: 'nothing is left', since: 1 };
const running: JobState = { phase: 'running', since: 5 };
const done: JobState = { phase: 'done', since: 7 };

describe('without a worker a job', () => {
  it.each<[string, JobState, Parameters<Awaited<ReturnType<typeof begin>>['ask']>[0], object, string?]>([
    ['runs is waiting for a worker', running, {}, { phase: 'waiting', shown: null }],
    ['runs is so also while its command is alive', running, { owners: [{}] }, { phase: 'waiting' }],
    ['has not started yet is planning', running, { owners: [{}], away: true }, { phase: 'planning', since: 5 }],
    ['runs while its server is down is waiting', running, { away: true }, { phase: 'waiting' }],
    ['is paused shows its time and reason', paused, {}, { phase: 'paused', message: 'nothing is left', since: 1 }],
    ['is paused shows them while its server is down', paused, { away: true }, { phase: 'paused', since: 1 }],
    ['lost its command is stopped', running, { owners: [] }, { phase: 'stopped', message: 'its command ended' }],
    ['lost its command and server is stopped', running, { owners: [], away: true }, { phase: 'stopped' }],
    ['is done stays done', done, { away: true }, { ...done, message: null }, 'g'],
  ])('that %s', async (_what, state, how, status, completed) => {
    const { ask } = await begin(state, completed ?? null);
    expect(await ask(how)).toMatchObject(status);
  });

  it('that was cancelled waits for a worker to end it, also while its server is down', async () => {
    const waits = { phase: 'waiting', message: 'it was cancelled, and a worker must end it', shown: null };
    for (const state of [running, paused]) {
      const { handle, ask } = await begin(state);
      await handle.cancel();
      expect(await ask()).toMatchObject({ ...waits, since: state.since });
      expect(await ask({ owners: [] })).toMatchObject(waits);
    }
    const { ask } = await begin({ ...paused, cancelRequested: true });
    expect(await ask({ away: true })).toMatchObject({ ...waits, since: 1 });
  });

  it('that its command terminated shows why, despite an earlier recorded state', async () => {
    const { handle, ask } = await begin(paused);
    await handle.terminate('command-stopped');
    const status = await ask();
    expect(status).toMatchObject({ phase: 'stopped', message: 'its command was stopped' });
    expect(status.since).toBeGreaterThan(paused.since);
  });

  it('that failed shows the reason', async () => {
    const { handle, ask } = await begin(running);
    await handle.terminate('broken');
    expect(await ask()).toMatchObject({ phase: 'failed', message: 'broken' });
  });

  it('that ended is not paused: the error names its state and the command that resumes it', async () => {
    const { job, handle } = await begin(running);
    await handle.terminate('command-stopped');
    const how = (name: string) => `To resume it:\n  searchflow resume ${name}`;
    await expect(new RowJobHandle(temporal.client, job).pause()).rejects.toThrow(`${job} is stopped. ${how(job)}`);
    await expect(new RowJobHandle(temporal.client, 'none').pause()).rejects.toThrow(
      `none is not running. ${how('none')}`,
    );
  });

  it('that is being cancelled is neither paused nor resumed', async () => {
    const { job, handle } = await begin(running);
    await handle.cancel();
    const asked = new RowJobHandle(temporal.client, job);
    await expect(asked.pause()).rejects.toThrow(`${job} is being cancelled; there is nothing to pause.`);
    await expect(asked.resume()).rejects.toThrow(`${job} is being cancelled; there is nothing to resume.`);
    const { events } = await handle.fetchHistory();
    expect(events?.filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal)).toEqual([]);
  });
});

describe('without a worker a walk', () => {
  async function beginWalk() {
    const job = `walk-${++jobs}`;
    const workflowId = `searchflow-${job}`;
    const handle = await temporal.client.workflow.start('syncEvents', { workflowId, taskQueue: job, args: [{}] });
    return { handle, ask: (abandoned = false) => walkStatus(job, workflowId, abandoned) };
  }

  it('that runs is waiting for a worker, and is stopped if its command died', async () => {
    const { ask } = await beginWalk();
    expect(await ask()).toMatchObject({ phase: 'waiting', since: expect.any(Number) });
    expect(await ask(true)).toMatchObject({ phase: 'stopped', message: 'its command ended', since: null });
  });

  it('that was terminated is stopped or failed, with the time', async () => {
    for (const [reason, phase] of [
      ['command-stopped', 'stopped'],
      ['broken', 'failed'],
    ] as const) {
      const { handle, ask } = await beginWalk();
      await handle.terminate(reason);
      expect(await ask()).toMatchObject({ phase, since: expect.any(Number) });
    }
  });

  it('that its server does not know has the state of its warehouse', async () => {
    expect(await walkStatus('none')).toMatchObject({ phase: null, since: null, isAnswered: true });
    expect(await walkStatus('none', undefined, false, async () => done as never)).toMatchObject(done);
  });
});

it('a run that an SDK started and no worker has opened is waiting for a worker, by its id and in the list', async () => {
  const folder = Folder.ofTest();
  const config = folder.config('http://127.0.0.1:1', serverOf(temporal));
  const runtime = await openRuntime(config);
  onTestFinished(() => runtime.close('now'));
  const { client } = temporal;
  const start = (type: string, workflowId: string, taskQueue = config.taskQueue) =>
    client.workflow.start(type, { workflowId, taskQueue, args: [{}] });
  await start('enrichCsv', 'unopened-rows');
  await start('syncEvents', 'unopened-walk');
  await start('enrichCsv', 'unopened-elsewhere', 'another-queue');
  await start('somethingElse', 'unopened-other');
  for (const job of ['unopened-rows', 'unopened-walk'])
    expect(await runtime.rows.status(job)).toMatchObject({ job, phase: 'waiting', isUnopened: true, shown: null });
  for (const job of ['unopened-elsewhere', 'unopened-other', 'unopened-none'])
    await expect(runtime.rows.status(job)).rejects.toThrow(`There is no job ${job} here`);
  const listed = async () => (await runtime.jobs.list()).map(({ job, phase, input }) => [job, phase, input]).sort();
  await expect.poll(listed, soon).toEqual([
    ['unopened-rows', 'waiting', null],
    ['unopened-walk', 'waiting', null],
  ]);
  await client.workflow.getHandle('unopened-rows').cancel();
  expect(await runtime.rows.status('unopened-rows')).toMatchObject({
    message: expect.stringContaining('was cancelled'),
  });
  await expect(runtime.rows.attach('unopened-rows')).resolves.toMatchObject({ workflowId: 'unopened-rows' });
});

/** The entry of a job in a folder. */
const entryIn = ({ input, into, dir }: Folder, job: string, changes: Parameters<typeof jobEntry>[2]) =>
  jobEntry(job, { name: 'rows', input, into, stageDir: dir }, changes);

it('a resume of a stopped job keeps the cap of its run, unless the resume changes the cap', async () => {
  const folder = Folder.ofTest();
  const config = folder.config('http://127.0.0.1:1', serverOf(temporal));
  const runtime = await openRuntime(config);
  onTestFinished(() => runtime.close('now'));
  const state: JobState = { phase: 'stopped', message: 'its command was stopped', since: 1 };
  const asked = { maxCostDollars: 2, maxRunSeconds: 60 };
  const entries = new FolderJobs(join(config.stateDir, 'jobs'));
  await entries.put(entryIn(folder, 'stopped-rows', { state, asked }));
  const inputAfter = async (maxCostDollars: number | undefined) => {
    const { workflowId } = await (await runtime.work()).resume('rows', { maxCostDollars });
    const handle = temporal.client.workflow.getHandle(workflowId);
    const { events } = await handle.fetchHistory();
    await handle.terminate();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return JSON.parse(Buffer.from(payload?.data ?? []).toString()) as object;
  };
  expect(await inputAfter(undefined)).toMatchObject(asked);
  expect(await inputAfter(7)).toMatchObject({ ...asked, maxCostDollars: 7 });
  expect(await inputAfter(undefined)).toMatchObject({ ...asked, maxCostDollars: 7 });
});

it('a cancel without a worker is recorded, and the next worker records the end of the job', async () => {
  const folder = Folder.ofTest();
  const config = folder.config('http://127.0.0.1:1', serverOf(temporal));
  const opened = await Promise.all([openRuntime(config), openRuntime(config)]);
  onTestFinished(async () => {
    for (const runtime of opened) await runtime.close('now');
  });
  const [typed, worker] = opened;
  const { input, into } = folder;
  const entries = new FolderJobs(join(config.stateDir, 'jobs'));
  await entries.put(entryIn(folder, 'cancelled-rows', { state: paused }));
  const workflowId = 'searchflow-cancelled-rows';
  const { taskQueue } = config;
  const args = [{ input, into, urlColumn: 'url' }];
  await temporal.client.workflow.start('enrichCsv', { workflowId, taskQueue, args });
  const before = Date.now();
  await (await typed.rows.attach('rows')).cancel();
  const state = async () => (await entries.get('cancelled-rows'))?.state;
  const cancelled = await state();
  expect(cancelled).toEqual({ ...paused, since: expect.any(Number), cancelRequested: true });
  expect(cancelled?.since).toBeGreaterThanOrEqual(before);
  // Of several cancels, the first one counts.
  await (await typed.rows.attach('rows')).cancel();
  expect(await state()).toEqual(cancelled);
  const working = (await worker.work()).runWorker(
    () => undefined,
    () => undefined,
  );
  await expect.poll(state, soon).toMatchObject({ phase: 'cancelled' });
  expect(await state()).not.toHaveProperty('cancelRequested');
  await worker.close('drain');
  await working;
});

describe('pause and cancel without a worker', () => {
  type Handle = Awaited<ReturnType<(typeof temporal.client)['workflow']['start']>>;
  const ends = (reason: string) => (handle: Handle) => handle.terminate(reason);
  /** Each state, how a job gets it, and the answers to `pause` and `cancel`; null: the request is accepted. */
  type Told = string | null;
  const states: readonly [string, JobState, ((handle: Handle) => Promise<unknown>) | null, Told, Told][] = [
    ['staged', running, null, 'is not running', 'is not running'],
    ['waiting for a worker', running, async () => undefined, null, null],
    ['paused', paused, async () => undefined, null, null],
    ['being cancelled', running, (handle) => handle.cancel(), 'is being cancelled; there is nothing to pause', null],
    ['stopped', running, ends('command-ended'), 'is stopped', 'is stopped'],
    ['failed', running, ends('broken'), 'failed', 'failed'],
  ];

  it.each(states)('of a job that is %s answer truly', async (_state, state, begins, ofPause, ofCancel) => {
    const folder = Folder.ofTest();
    const runtime = await openRuntime(folder.config('http://127.0.0.1:1', serverOf(temporal)));
    onTestFinished(() => runtime.close('now'));
    const job = `asked-${++jobs}`;
    const entries = new FolderJobs(join(folder.stateDir, 'jobs'));
    await entries.put(entryIn(folder, job, { state }));
    const start = { workflowId: `searchflow-${job}`, taskQueue: job, args: [{}] };
    if (begins) await begins(await temporal.client.workflow.start('enrichCsv', start));
    const attach = () => runtime.rows.attach(job);
    const answer = (asked: Promise<void>) => asked.then(() => null).catch((error: Error) => error.message);
    const expected = (text: string | null) => (text === null ? null : expect.stringContaining(`${job} ${text}`));
    expect(await answer((await attach()).pause())).toEqual(expected(ofPause));
    expect(await answer((await attach()).cancel())).toEqual(expected(ofCancel));
    const now = await runtime.rows.status(job);
    if (ofCancel !== null) return;
    expect(now).toMatchObject({ phase: 'waiting', message: 'it was cancelled, and a worker must end it' });
    expect((await entries.get(job))?.state).toMatchObject({ cancelRequested: true });
    expect(await answer((await attach()).pause())).toBe(`${job} is being cancelled; there is nothing to pause.`);
  });
});

it('pause of a job whose command was killed says each time that nothing runs, and sends no signal', async () => {
  const folder = Folder.ofTest();
  const runtime = await openRuntime(folder.config('http://127.0.0.1:1', serverOf(temporal)));
  onTestFinished(() => runtime.close('now'));
  const job = `killed-${++jobs}`;
  const workflowId = `searchflow-${job}`;
  const killed = new FolderJobs(join(folder.stateDir, 'jobs'));
  await killed.put(entryIn(folder, job, { state: running }));
  await killed.claim(workflowId, () => ({ owned: { workflowId, job, owners: [killed.owner()] } }));
  const handle = await temporal.client.workflow.start('enrichCsv', { workflowId, taskQueue: job, args: [{}] });
  const { rows, isAbandoned } = runtime;
  const pause = () =>
    typeCommand(folder.dir, `pause ${job}`, {
      status: (name) => rows.status(name),
      attach: async () => new RowJobHandle(temporal.client, job),
      isAbandoned,
    });
  killed.close();
  const refusal = `${job} is stopped: its command ended. To resume it:\n  searchflow resume ${job}`;
  for (let time = 0; time < 2; time++)
    expect(await pause()).toMatchObject({ code: 2, refusal: expect.stringContaining(refusal) });
  const { events } = await handle.fetchHistory();
  expect(events?.some(({ workflowExecutionSignaledEventAttributes: signal }) => signal)).toBe(false);
  const walk = new WalkHandle(temporal.client, workflowId, 'events-sync-1');
  await expect(walk.pause({ isAbandoned: true })).rejects.toThrow('events-sync-1 is stopped: its command ended.');
});

describe('with a worker', () => {
  const asked = ['stageInput', 'openJob', 'enrichSlice', 'jobSpent', 'openWalk', 'walkWindow'];
  const spent = {
    ...{ requests: 0, costMicros: 0, listMicros: 0, committedMicros: 0, openMicros: 0, openSinceMicros: 0 },
    unknownOutcomes: 0,
  };

  /** A job with a slice in progress, and a walk with a window in progress. */
  async function working() {
    const worker = await AnsweredActivities.open(temporal, asked);
    const job = await worker.start('enrichCsv', [{ input: 'rows.csv' }]);
    const staged = { job: 'rows', name: 'rows', operation: 'contents', generation: 'g', slices: 1, window: 1 };
    const asStaged = { ...staged, rows: 10, rowsPerSlice: 10 };
    (await job.call('stageInput')).answer({ staged: asStaged });
    (await job.call('openJob')).answer({
      ...{ slices: [0], before: spent, carried: false, adopts: false, staged: asStaged, csv: null },
    });
    const slice = await job.call('enrichSlice');
    const walk = await worker.start('syncEvents', [{}]);
    const opened = { continues: false, lengthMs: 0, doneMs: 0, before: {} };
    (await walk.call('openWalk')).answer({ walk: { stream: 'sync' }, windows: [1], ...opened });
    const window = await walk.call('walkWindow');
    const { workflowId } = job.handle;
    const status = (state?: JobState, living: readonly object[] | null = null, workerless?: boolean) => {
      const entry = { staged, state, completed: null } as unknown as JobEntry;
      const owned = living ? [{ workflowId, job: 'rows', owners: [], living }] : [];
      return statusOf({ ...entry, workflowId }, { ...noRecords, client: temporal.client, owned, workerless });
    };
    const ofWalk = (abandoned = false) => walkStatus('sync', walk.handle.workflowId, abandoned);
    const beats = async ({ handle }: typeof job) =>
      Number((await handle.describe()).raw.pendingActivities?.[0]?.lastHeartbeatTime?.seconds ?? 0) * 1000;
    for (const each of [job, walk]) await expect.poll(() => beats(each)).toBeGreaterThan(0);
    return { worker, job, walk, slice, window, status, ofWalk, beats };
  }

  it('a job and a walk show what it answers, since the recorded time if they have that state, else since their start', async () => {
    const { worker, job, walk, slice, status, ofWalk } = await working();
    const begun = (await job.handle.describe()).startTime.getTime();
    const shown = { progress: { rows: 10 } };
    await expect.poll(() => status(running)).toMatchObject({ phase: 'running', since: 5, shown });
    const since = (await walk.handle.describe()).startTime.getTime();
    expect(await ofWalk()).toMatchObject({ phase: 'running', since, shown: { progress: { stream: 'sync' } } });
    // The command of the job has died, so the worker will stop the job.
    expect(await status(running, [])).toMatchObject({ phase: 'stopped', message: 'its command ended' });
    expect(await ofWalk(true)).toMatchObject({ phase: 'stopped' });
    await job.handle.signal('pause');
    await slice.cancelled;
    slice.cancel();
    expect(await status(running)).toMatchObject({ phase: 'paused', message: 'paused by a person', since: begun });
    expect(await status({ ...paused, since: 9 })).toMatchObject({ phase: 'paused', since: 9 });
    (await job.call('jobSpent')).answer(spent);
    await job.handle.cancel();
    await expect.poll(async () => (await status(running)).phase).toBe('cancelled');
    expect((await status(running)).since).toBe((await job.handle.describe()).closeTime?.getTime());
    // Temporal does not keep the message of a cancelled job.
    const left = 'cancelled, with 1 runs at the service; 2 more did not end and are left running: see agent list';
    const cancelled = { phase: 'cancelled', message: left } as const;
    expect(await status({ ...cancelled, since: 1 })).toMatchObject(cancelled);
    await walk.handle.terminate();
    await worker.close();
  });

  it('that is busy or has just ended, they are running by their last heartbeat, unless their command died', async () => {
    const { worker, job, walk, status, ofWalk, beats } = await working();
    await worker.close();
    expect(await status(running)).toMatchObject({ phase: 'running', since: 5, shown: null });
    expect(await ofWalk()).toMatchObject({ phase: 'running' });
    const stopped = { phase: 'stopped', since: await beats(job) };
    expect(await status(running, [])).toMatchObject({ ...stopped, message: 'its command ended' });
    expect(await status(paused, [])).toMatchObject({ phase: 'paused', since: 1 });
    expect(await ofWalk(true)).toMatchObject({ phase: 'stopped', since: await beats(walk) });
    // If certainly no worker is alive, a recent heartbeat comes from a dead worker.
    expect(await status(running, null, true)).toMatchObject({ phase: 'waiting', message: null });
    await job.handle.cancel();
    expect(await status(running)).toMatchObject({ phase: 'running', message: 'it is being cancelled' });
    const waits = { phase: 'waiting', message: 'it was cancelled, and a worker must end it' };
    expect(await status(running, null, true)).toMatchObject(waits);
    for (const { handle } of [job, walk]) await handle.terminate();
  });
});
