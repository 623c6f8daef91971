import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FinishWalk } from '../../../src/activities/events/walk.js';
import type { WalkWindowInput } from '../../../src/core/events/walk-job.js';
import { queryNames, signalNames } from '../../../src/core/rows/job-names.js';
import type { WalkCounts, WalkProgress } from '../../../src/core/workflow-result-schemas.js';
import { AnsweredActivities } from '../../support/jobs/answered-activities.js';
import { soon } from '../../support/jobs/checks.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const worker = ofFile(() => AnsweredActivities.open(temporal, ['openWalk', 'walkWindow', 'finishWalk']));
const counts = (pages: number, events: number, added: number, changed: number) => ({ pages, events, added, changed });
const walk = { origin: 'sandbox', stream: 'sync', into: 'events.duckdb', types: [] };
/** The answer of `openWalk`. */
const opened = (windows: readonly number[], changes: object = {}) => ({
  ...{ walk, windows, continues: false, lengthMs: 0, doneMs: 0, before: counts(0, 0, 0, 0) },
  ...changes,
});
const result = (changes: object = {}) => ({
  ...{ ...counts(1, 5, 4, 1), done: true, parts: [], lengthMs: 0, partsMs: 0 },
  ...changes,
});
const summary = (changes: object = {}) => ({ phase: 'done', ...counts(7, 35, 28, 7), ...changes });

/** Starts a walk. `state`: the state that an earlier run of the workflow left. */
async function began(input: object = {}, state?: object, workflow = 'syncEvents') {
  const job = await worker.start(workflow, state === undefined ? [input] : [input, state]);
  const { handle } = job;
  const progress = () => handle.query<WalkProgress>(queryNames.progress);
  return {
    ...job,
    progress,
    phase: (phase: string) => expect.poll(async () => (await progress()).phase, soon).toBe(phase),
    open: () => job.call('openWalk'),
    window: () => job.call<WalkWindowInput>('walkWindow'),
    finish: () => job.call<FinishWalk>('finishWalk'),
    pause: () => handle.signal(signalNames.pause),
    resume: () => handle.signal(signalNames.resume),
    stop: (why: string) => handle.signal(signalNames.stop, why),
  };
}

/** Starts a walk with some windows to read. */
async function walking(windows: readonly number[], input: object = {}, changes: object = {}) {
  const job = await began(input);
  (await job.open()).answer(opened(windows, changes));
  return job;
}

describe('a walk that the service refuses at its beginning', () => {
  it('pauses until it is resumed, and then begins again', async () => {
    const job = await began();
    (await job.open()).fail('Unauthorized', '401');
    await job.phase('paused');
    expect(await job.progress()).toMatchObject({ pausedFor: 'key', next: { text: 'To resume it' } });
    await job.resume();
    (await job.open()).answer(opened([1]));
    expect((await job.window()).input).toMatchObject({ window: 1, walk });
    expect(await job.progress()).toMatchObject({ phase: 'running', pausedFor: null, message: null });
    await job.handle.terminate();
  });

  it('ends when it is stopped, with the reason, and by itself if it is scheduled', async () => {
    const paused = await began();
    (await paused.open()).fail('Unauthorized', '401');
    await paused.phase('paused');
    await paused.stop('its command ended');
    expect(await paused.handle.result()).toMatchObject({ phase: 'stopped', message: 'its command ended' });

    const stopped = await began();
    const open = await stopped.open();
    await stopped.stop('its command ended');
    open.fail('Unauthorized', '401');
    expect(await stopped.handle.result()).toMatchObject({ phase: 'stopped', message: 'its command ended' });

    const scheduled = await began({ scheduled: true });
    (await scheduled.open()).fail('Unauthorized', '401');
    expect(await scheduled.handle.result()).toMatchObject({
      phase: 'stopped',
      message: expect.stringMatching(/\. The next run continues$/),
    });
  });
});

describe('a walk', () => {
  it('reads as many windows at once as it may, the parts of a window before others, and an unfinished one again', async () => {
    const job = await walking([1, 2], { parallel: 1 });
    const first = await job.window();
    expect(first.input).toMatchObject({ window: 1, splits: false });
    first.answer(result({ done: false, parts: [3, 4] }));
    const order = [];
    for (let count = 0; count < 4; count++) {
      const window = await job.window();
      expect(job.waiting('walkWindow')).toBe(0);
      order.push(window.input.window);
      window.answer(result({ done: count !== 1 }));
    }
    expect(order).toEqual([3, 4, 4, 2]);
    const finish = await job.finish();
    expect(await job.progress()).toMatchObject(counts(5, 25, 20, 5));
    finish.answer({ pending: [], summary: summary() });
    expect(await job.handle.result()).toMatchObject({ phase: 'done' });

    const two = await walking([1, 2, 3], { parallel: 2 });
    expect((await two.window()).input.splits).toBe(true);
    await two.window();
    await delay(50);
    expect(two.waiting('walkWindow')).toBe(0);
    await two.handle.terminate();
  });

  it('reads windows whose counts were lost, and reports the summary after them', async () => {
    const job = await walking([1]);
    (await job.window()).answer(result());
    (await job.finish()).answer({ pending: [2, 3], summary: null });
    const found = [await job.window(), await job.window()];
    expect(found.map(({ input }) => input.window).toSorted()).toEqual([2, 3]);
    for (const window of found) window.answer(result());
    const finish = await job.finish();
    expect(finish.input).toMatchObject({ stopped: null, before: counts(0, 0, 0, 0) });
    finish.answer({ pending: [], summary: summary() });
    expect(await job.handle.result()).toEqual(summary());
  });

  it('fails with its first failure that no person can fix, and interrupts the other windows', async () => {
    const job = await walking([1, 2]);
    const [first, second] = [await job.window(), await job.window()];
    first.fail('BadInput', 'the first');
    await second.cancelled;
    second.fail('BadInput', 'the second');
    await expect(job.handle.result()).rejects.toMatchObject({ cause: { type: 'BadInput', message: 'the first' } });
    expect((await job.progress()).phase).toBe('failed');
  });

  it('that is cancelled ends once its pages in flight have landed', async () => {
    const job = await walking([1]);
    const window = await job.window();
    await job.handle.cancel();
    await window.cancelled;
    expect((await job.handle.describe()).status.name).toBe('RUNNING');
    window.answer(result({ done: false }));
    await expect(job.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(await job.progress()).toMatchObject({ phase: 'cancelled', ...counts(1, 5, 4, 1) });
  });

  it('keeps its windows and counts across runs of its workflow', async () => {
    const job = await walking([1, 2, 3], { parallel: 2 });
    const [first, second] = [await job.window(), await job.window()];
    // On this server a workflow continues as new after 200 events of its history.
    await Promise.all(Array.from({ length: 200 }, () => job.resume()));
    first.answer(result());
    second.answer(result());
    const third = await job.window();
    expect(third.input.window).toBe(3);
    expect((await job.handle.describe()).runId).not.toBe(job.handle.firstExecutionRunId);
    third.answer(result());
    const finish = await job.finish();
    expect(await job.progress()).toMatchObject(counts(3, 15, 12, 3));
    finish.answer({ pending: [], summary: summary() });
  });
});

describe('a sync', () => {
  const brought = counts(2, 9, 8, 1) satisfies WalkCounts;

  it('that finished the rest of an earlier run begins the present one, and its summary covers both', async () => {
    const job = await walking([4], {}, { continues: true });
    (await job.window()).answer(result());
    (await job.finish()).answer({ pending: [], summary: summary(brought) });
    (await job.open()).answer(opened([1], { before: counts(10, 20, 30, 40) }));
    const window = await job.window();
    expect(window.input.window).toBe(1);
    window.answer(result());
    const finish = await job.finish();
    expect(finish.input.before).toEqual(counts(8, 11, 22, 39));
    finish.answer({ pending: [], summary: summary() });
    expect(await job.handle.result()).toEqual(summary());
  });

  it('that is stopped begins no further run', async () => {
    const job = await walking([4], { scheduled: true }, { continues: true });
    (await job.window()).fail('PaymentRequired', '402');
    const finish = await job.finish();
    expect(finish.input.stopped).toMatch(/\. The next run continues$/);
    finish.answer({ pending: [], summary: summary({ phase: 'stopped' }) });
    expect(await job.handle.result()).toEqual(summary({ phase: 'stopped' }));
  });

  it.each([
    ['that ends more than two minutes after it was opened reads on', 'syncEvents', 125_000, true],
    ['that ends earlier is done', 'syncEvents', 60_000, false],
    ['of a range never reads on', 'backfillEvents', 125_000, false],
  ])('%s', async (_what, workflow, ageMs, goesOn) => {
    const openedAt = Date.now() - ageMs;
    const state = {
      ...{ version: 1, walk, queue: [], continues: false, before: counts(0, 0, 0, 0), paused: null, openedAt },
      ...{ startedAt: openedAt, resumedAt: openedAt, windowsDone: 1, lengthMs: 0, doneMs: 0, doneBeforeMs: 0 },
      ...brought,
    };
    const job = await began({}, state, workflow);
    (await job.finish()).answer({ pending: [], summary: summary(brought) });
    if (goesOn) {
      (await job.open()).answer(opened([]));
      (await job.finish()).answer({ pending: [], summary: summary() });
    }
    expect(await job.handle.result()).toEqual(summary(goesOn ? {} : brought));
  });
});

describe('a pause of a walk', () => {
  it('interrupts its windows; a resume reads them on, and their refusals meanwhile do not count', async () => {
    const job = await walking([1, 2], { parallel: 2 });
    const [first, second] = [await job.window(), await job.window()];
    await job.pause();
    await Promise.all([first.cancelled, second.cancelled]);
    await job.phase('paused');
    expect(await job.progress()).toMatchObject({ pausedFor: 'person', message: 'paused by a person' });
    first.cancel();
    await job.resume();
    second.fail('Unauthorized', 'an old refusal');
    const again = [await job.window(), await job.window()];
    expect(again.map(({ input }) => input.window).toSorted()).toEqual([1, 2]);
    expect((await job.progress()).phase).toBe('running');
    await job.handle.terminate();
  });

  it('ends with the reason of a stop, also if it is resumed after that', async () => {
    const job = await walking([1]);
    (await job.window()).fail('Unauthorized', '401');
    await job.phase('paused');
    await job.stop('its command ended');
    const finish = await job.finish();
    expect(finish.input.stopped).toBe('its command ended');
    finish.answer({ pending: [], summary: summary({ phase: 'stopped' }) });
    expect(await job.handle.result()).toMatchObject({ phase: 'stopped' });

    const walks = await walking([1]);
    const window = await walks.window();
    await walks.stop('its command ended');
    await walks.resume();
    await window.cancelled;
    window.answer(result({ done: false }));
    expect((await walks.finish()).input.stopped).toBe('its command ended');
    await walks.handle.terminate();
  });
});
