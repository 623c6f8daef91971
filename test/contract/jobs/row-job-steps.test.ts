import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { PausedJob } from '../../../src/activities/rows/job.js';
import type { FinishInput } from '../../../src/activities/rows/summarize.js';
import { BUDGET_EXCEEDED } from '../../../src/core/choices.js';
import type { EnrichCsvInput, JobProgress } from '../../../src/core/row-job-schemas.js';
import type { RetryRowsInput, SliceInput } from '../../../src/core/rows/job.js';
import { queryNames, signalNames } from '../../../src/core/rows/job-names.js';
import { AnsweredActivities, type Call } from '../../support/jobs/answered-activities.js';
import { soon } from '../../support/jobs/checks.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const names = ['stageInput', 'openJob', 'enrichSlice', 'retryRows', 'jobSpent', 'endRuns', 'finishJob'];
const worker = ofFile(() => AnsweredActivities.open(temporal, names, { openRetry: null }));

interface Facts {
  readonly operation?: string;
  readonly slices?: readonly number[];
  readonly window?: number;
  readonly input?: Partial<EnrichCsvInput>;
  /** Fields that replace those of the answer of `openJob`. */
  readonly opened?: object;
  readonly startDelay?: '300ms';
  /** Whether the test answers `openRetry`; default: there are no failed rows to buy once more. */
  readonly retries?: boolean;
}

/** Purchases of earlier runs of the job. */
const before = {
  ...{ requests: 10, costMicros: 4000, listMicros: 4000, committedMicros: 5000, openMicros: 0, openSinceMicros: 0 },
  unknownOutcomes: 1,
};
const result = (changes: object = {}) => ({
  complete: true,
  rows: 10,
  requests: 1,
  bought: 10,
  failed: 0,
  costMicros: 100,
  earlierMicros: 0,
  unknownOutcomes: 0,
  ...changes,
});
const spent = (changes: object = {}) => ({ ...before, ...changes });

/** A job whose rows are staged, before it is opened. */
async function planned(facts: Facts = {}) {
  const { operation = 'contents', slices = [0, 1], window = 2, input = {}, startDelay, retries: asks = false } = facts;
  const size = Math.max(...slices) + 1;
  const staged = {
    job: 'rows-1',
    name: 'rows',
    operation,
    generation: 'g',
    rows: 10 * size,
    slices: size,
    rowsPerSlice: 10,
    window,
    ...(input.limit === undefined ? {} : { limit: input.limit }),
  };
  const job = await worker.start('enrichCsv', [{ input: 'rows.csv', csv: '/mine.csv', ...input }], {
    startDelay,
    asks,
  });
  const { handle } = job;
  const progress = () => handle.query<JobProgress>(queryNames.progress);
  return {
    ...job,
    staged,
    /** The answer of `openJob`. */
    openedJob: (left: readonly number[] = [0, 1], changes: object = {}) => ({
      ...{ slices: left, before, carried: false, adopts: false, staged, csv: input.csv ?? '/mine.csv' },
      ...changes,
    }),
    progress,
    phase: (phase: string) => expect.poll(async () => (await progress()).phase, soon).toBe(phase),
    slice: () => job.call<SliceInput>('enrichSlice'),
    /** The next two calls for slices, sorted by the number of the slice, because a worker may get them in any order. */
    async both() {
      const calls = [await job.call<SliceInput>('enrichSlice'), await job.call<SliceInput>('enrichSlice')] as const;
      return calls.toSorted((a, b) => a.input.slice - b.input.slice) as [Call<SliceInput>, Call<SliceInput>];
    },
    spent: () => job.call<{ readonly job: string; readonly paused?: PausedJob }>('jobSpent'),
    openRetry: () => job.call<object>('openRetry'),
    finish: () => job.call<FinishInput>('finishJob'),
    pause: () => handle.signal(signalNames.pause),
    resume: (maxCostDollars?: unknown) =>
      handle.signal(signalNames.resume, ...(maxCostDollars === undefined ? [] : [{ maxCostDollars }])),
    stop: (why: string) => handle.signal(signalNames.stop, why),
  };
}

/** A job that is opened, with some slices to load. */
async function opened(facts: Facts = {}) {
  const job = await planned(facts);
  (await job.call('stageInput')).answer({ staged: job.staged });
  (await job.call('openJob')).answer(job.openedJob(facts.slices, facts.opened));
  return job;
}

const overBudget = { scope: 'job', capMicros: 9000, remainingMicros: 10, resetsAt: null };

describe('a row job', () => {
  it('starts as many slices as its window has, and adds up what those at the same time report', async () => {
    const job = await opened({ slices: [0, 1, 2] });
    const [first, second] = await job.both();
    first.answer(result({ failed: 1, unknownOutcomes: 2 }));
    const third = await job.slice();
    expect(job.waiting('enrichSlice')).toBe(0);
    second.answer(result({ requests: 3, costMicros: 50 }));
    third.answer(result({ failed: 4 }));
    const finish = await job.finish();
    expect(await job.progress()).toMatchObject({ requests: 5, failed: 5, costMicros: 250, unknownOutcomes: 2 });
    finish.answer({ phase: 'done' });
    expect(await job.handle.result()).toEqual({ phase: 'done' });
  });

  it('passes on what its input, its opening and its entry say', async () => {
    const freshness = { freshAfter: 7 };
    const job = await planned({
      slices: [0],
      input: { maxRunSeconds: 90, maxCostDollars: 2, scheduled: true, limit: 7 },
    });
    (await job.call('stageInput')).answer({ staged: job.staged, freshness });
    const open = await job.call<object>('openJob');
    expect(open.input).toMatchObject({ csv: '/mine.csv', freshness });
    const loaded = { failed: 3, partial: [[0, 4]] };
    open.answer(job.openedJob([0], { carried: true, adopts: true, loaded, csv: '/entry.csv' }));
    const slice = await job.slice();
    expect(slice.input).toMatchObject({
      ...{ slice: 0, carried: true, adopts: true, freshness, maxRunSeconds: 90, limitMicros: 2_005_000 },
    });
    expect(await job.progress()).toMatchObject({ rows: 7, rowsDone: 4, failed: 3, maxCostMicros: 2_000_000 });
    expect((await job.handle.describe()).memo).toMatchObject({ generation: 'g', limit: 7 });
    slice.answer(result());
    const finish = await job.finish();
    expect(finish.input).toMatchObject({
      ...{ csv: '/entry.csv', stopped: null, freshness, before, scheduled: true },
      run: job.handle.firstExecutionRunId,
    });
    finish.answer({ phase: 'done' });
  });

  it('continues a slice of minutes at once, and one that waits for runs of hours after all others', async () => {
    for (const [operation, next] of [
      ['contents', 0],
      ['agent', 1],
    ] as const) {
      const job = await opened({ operation, window: 1 });
      (await job.slice()).answer(result({ complete: false }));
      const second = await job.slice();
      expect(second.input.slice).toBe(next);
      await job.handle.terminate();
      second.cancel();
    }
  });

  it('fails with its first failure that no person can fix, and interrupts the other slices', async () => {
    const job = await opened();
    const [first, second] = await job.both();
    first.fail('BadInput', 'the first');
    await second.cancelled;
    second.fail('BadInput', 'the second');
    await expect(job.handle.result()).rejects.toMatchObject({ cause: { type: 'BadInput', message: 'the first' } });
    expect((await job.progress()).message).toBe('the first');
  });

  it('keeps its slices and counts across runs of its workflow', async () => {
    const job = await opened({ slices: [0, 1, 2, 3], window: 2 });
    const [first, second] = await job.both();
    // On this server a workflow continues as new after 200 events of its history.
    await Promise.all(Array.from({ length: 200 }, () => job.resume()));
    first.answer(result());
    second.answer(result({ complete: false }));
    const done = [];
    for (let count = 0; count < 3; count++) {
      const slice = await job.slice();
      done.push(slice.input.slice);
      slice.answer(result());
    }
    const finish = await job.finish();
    expect(done.toSorted()).toEqual([1, 2, 3]);
    expect((await job.handle.describe()).runId).not.toBe(job.handle.firstExecutionRunId);
    expect(await job.progress()).toMatchObject({ requests: 5, rowsDone: 40 });
    expect(finish.input.run).toBe(job.handle.firstExecutionRunId);
    finish.answer({ phase: 'done' });
  });
});

describe('a pause of a row job', () => {
  it('before its first step is the last of its signals, and starts no step; a resume with a budget starts them with it', async () => {
    const job = await planned({ startDelay: '300ms' });
    // By default the SDK would handle all signals of one name together, here both pauses before the resume.
    await job.pause();
    await job.resume();
    await job.pause();
    await job.phase('paused');
    expect(await job.progress()).toMatchObject({ pausedFor: 'person', message: 'paused by a person', rows: 0 });
    expect(job.waiting('stageInput')).toBe(0);
    await job.resume(3);
    (await job.call('stageInput')).answer({ staged: job.staged });
    (await job.call('openJob')).answer(job.openedJob());
    expect((await job.slice()).input.limitMicros).toBe(3_005_000);
    await job.handle.terminate();
  });

  it('that was resumed before the plan does not happen, and the budget of the resume counts', async () => {
    const job = await planned({ input: { maxCostDollars: 1 }, startDelay: '300ms' });
    await job.pause();
    await job.resume(3);
    expect((await job.progress()).maxCostMicros).toBe(3_000_000);
    (await job.call('stageInput')).answer({ staged: job.staged });
    (await job.call('openJob')).answer(job.openedJob());
    expect((await job.slice()).input.limitMicros).toBe(3_005_000);
    await job.handle.terminate();
  });

  it('interrupts its staging, which begins again after a resume', async () => {
    const job = await planned({ slices: [0] });
    for (const _pause of [1, 2]) {
      const interrupted = await job.call('stageInput');
      await job.pause();
      await interrupted.cancelled;
      interrupted.cancel();
      await job.phase('paused');
      expect(await job.progress()).toMatchObject({ pausedFor: 'person', message: 'paused by a person' });
      expect(job.waiting('stageInput')).toBe(0);
      await job.resume();
    }
    const again = await job.call('stageInput');
    expect(await job.progress()).toMatchObject({ phase: 'planning', pausedFor: null, message: null });
    again.answer({ staged: job.staged });
    (await job.call('openJob')).answer(job.openedJob([0]));
    (await job.slice()).answer(result());
    (await job.finish()).answer({ phase: 'done' });
    expect(await job.handle.result()).toEqual({ phase: 'done' });
  });

  it('lets the staging of a scheduled run end, because the run ends with a summary of its rows', async () => {
    const job = await planned({ slices: [0], input: { scheduled: true } });
    const staging = await job.call('stageInput');
    await job.pause();
    staging.answer({ staged: job.staged });
    (await job.call('openJob')).answer(job.openedJob([0]));
    (await job.spent()).answer(spent());
    expect((await job.finish()).input.stopped).toMatchObject({ reason: 'person' });
    await job.handle.terminate();
  });

  it('loads the slices that it interrupted, each pause its own, and counts what the journal has', async () => {
    const job = await opened({ slices: [0, 1, 2] });
    const [first, second] = await job.both();
    await job.pause();
    await Promise.all([first.cancelled, second.cancelled]);
    first.answer(result({ complete: false }));
    second.cancel();
    const sum = await job.spent();
    expect(sum.input).toMatchObject({ job: 'rows-1', paused: { why: { reason: 'person' } } });
    expect(sum.input.paused?.slices.toSorted()).toEqual([0, 1]);
    expect(await job.progress()).toMatchObject({ phase: 'paused', landing: true, message: 'paused by a person' });
    const loaded = { failed: 2, partial: [[0, 6]] };
    sum.answer(spent({ requests: 13, costMicros: 4700, unknownOutcomes: 3, loaded }));
    await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
    const now = await job.progress();
    expect(now).toMatchObject({ requests: 3, costMicros: 700, unknownOutcomes: 2, failed: 2, rowsDone: 6 });
    const pausedAt = Date.now();
    await job.resume();
    const again = await job.both();
    for (const { input } of again) expect(input.resumedAt).toBeGreaterThanOrEqual(pausedAt - 100);
    again[0].answer(result());
    again[1].answer(result());
    const last = await job.slice();
    await job.pause();
    await last.cancelled;
    last.cancel();
    expect((await job.spent()).input.paused?.slices).toEqual([2]);
    await job.handle.terminate();
  });

  it('by a budget says what is spent, in flight and lost included; a resume meanwhile is not undone', async () => {
    const job = await opened({ slices: [0], window: 1, input: { maxCostDollars: 0.02 } });
    (await job.slice()).fail(BUDGET_EXCEEDED, 'the budget', overBudget);
    (await job.spent()).answer(spent({ committedMicros: 16_000 }));
    await expect
      .poll(async () => (await job.progress()).message, soon)
      .toContain("$0.011 of this run's budget of $0.02 is spent");
    expect((await job.progress()).next?.command).toBe('resume rows-1 --max-cost 0.04');
    await job.resume(0.03);
    (await job.slice()).fail(BUDGET_EXCEEDED, 'the budget', overBudget);
    const sum = await job.spent();
    await job.resume(0.05);
    sum.answer(spent({ committedMicros: 17_000 }));
    const slice = await job.slice();
    expect(slice.input.limitMicros).toBe(55_000);
    slice.answer(result());
    (await job.finish()).answer({ phase: 'done' });
  });

  it('by failed answers adds up the slices of all processes, and counts again after a resume', async () => {
    const input = { stopAtFailed: { percent: 20, after: 20 } };
    const job = await opened({ slices: [0, 1, 2], input });
    const [first, second] = await job.both();
    expect(first.input.stopAtFailed).toEqual({ ...input.stopAtFailed, answered: 0 });
    first.answer(result({ answers: { answered: 10, failed: 3, tags: { NO_CONTENT: 3 } } }));
    const third = await job.slice();
    expect(third.input.stopAtFailed).toEqual({ ...input.stopAtFailed, answered: 10 });
    second.answer(result({ answers: { answered: 10, failed: 2, tags: { CRAWL_TIMEOUT: 2 } } }));
    await third.cancelled;
    expect((await job.progress()).message).toMatch(
      /^5 of 20 answers failed \(25%\), most often with NO_CONTENT \(3\);/,
    );
    // Requests in flight have landed since, so the process that was interrupted has counted more.
    const tooManyFailed = { answered: 30, failed: 9, tags: { NO_CONTENT: 9 } };
    third.answer(result({ complete: false, answers: { answered: 5, failed: 4, tags: {} }, tooManyFailed }));
    const sum = await job.spent();
    expect(sum.input.paused?.why).toMatchObject({
      reason: 'failed',
      message: expect.stringMatching(/^9 of 30 answers/),
    });
    sum.answer(spent());
    await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
    await job.resume();
    const again = await job.slice();
    expect(again.input.stopAtFailed).toEqual({ ...input.stopAtFailed, answered: 0 });
    // The last slice has nothing left to buy, so the job ends however many answers failed.
    again.answer(result({ answers: { answered: 30, failed: 30, tags: {} } }));
    (await job.finish()).answer({ phase: 'done' });
    expect(await job.handle.result()).toEqual({ phase: 'done' });
  });

  it('by a budget names what is held for runs that are still running at the service', async () => {
    const job = await opened({ operation: 'agent', slices: [0], window: 1, input: { maxCostDollars: 0.02 } });
    const slice = await job.slice();
    const { startedAt } = await job.progress();
    expect(slice.input).toMatchObject({ startedAt });
    slice.fail(BUDGET_EXCEEDED, 'the budget', overBudget);
    const sum = await job.spent();
    expect(sum.input).toMatchObject({ startedAt });
    sum.answer(spent({ costMicros: 9000, committedMicros: 16_000, openMicros: 6000, openSinceMicros: 6000 }));
    await expect
      .poll(async () => (await job.progress()).message, soon)
      .toContain(
        "$0.005 of this run's budget of $0.02 is spent, $0.006 is held for runs that are still running at the service, and the rest",
      );
    await job.handle.terminate();
  });

  it('counts the runs that an earlier run of the job started apart from its cap', async () => {
    const job = await opened({ operation: 'agent', slices: [0, 1], window: 1, input: { maxCostDollars: 0.02 } });
    (await job.slice()).answer(result({ costMicros: 3000, earlierMicros: 3000 }));
    (await job.slice()).answer(result({ costMicros: 500 }));
    const finish = await job.finish();
    expect(await job.progress()).toMatchObject({ costMicros: 3500, earlierMicros: 3000 });
    finish.answer({ phase: 'done' });
  });

  it('of a scheduled run names no command to resume, and ends the run', async () => {
    const job = await opened({ slices: [0], input: { scheduled: true } });
    (await job.slice()).fail('Unauthorized', '401', { tag: 'INVALID_API_KEY' });
    (await job.spent()).answer(spent());
    const finish = await job.finish();
    expect(finish.input).toMatchObject({ csv: null, stopped: { reason: 'key' } });
    expect(finish.input.stopped?.next).toEqual({ text: 'The next run continues', command: null });
    finish.answer({ phase: 'stopped' });
  });
});

it('a resume of a row job in progress interrupts its slices for another budget, and ignores a refusal that came before it', async () => {
  const job = await opened({ input: { maxCostDollars: 1 } });
  const [first, second] = await job.both();
  await job.resume('many');
  await job.resume(1);
  await job.resume();
  await delay(50);
  expect(await job.progress()).toMatchObject({ phase: 'running', maxCostMicros: 1_000_000 });
  await job.resume(4);
  await Promise.all([first.cancelled, second.cancelled]);
  first.fail('Unauthorized', 'an old refusal');
  second.answer(result({ complete: false }));
  const again = await job.both();
  expect(again.map(({ input }) => [input.slice, input.limitMicros])).toEqual([
    [0, 4_005_000],
    [1, 4_005_000],
  ]);
  expect((await job.progress()).phase).toBe('running');
  await job.handle.terminate();
});

describe('a stop of a row job', () => {
  it('ends it with the reason of the stop once its calls have landed, also after a refusal, and keeps the last CSV', async () => {
    const job = await opened();
    const [first, second] = await job.both();
    first.fail(BUDGET_EXCEEDED, 'the budget', overBudget);
    await second.cancelled;
    await job.stop('its command ended');
    await job.resume();
    second.answer(result({ complete: false }));
    (await job.spent()).answer(spent());
    const finish = await job.finish();
    expect(finish.input).toMatchObject({ csv: null, stopped: { reason: 'person', message: 'its command ended' } });
    finish.answer({ phase: 'stopped' });
    expect(await job.handle.result()).toEqual({ phase: 'stopped' });
    expect((await job.progress()).phase).toBe('stopped');
  });

  it('ends a paused job, and one that is not planned yet', async () => {
    const paused = await opened({ slices: [0] });
    (await paused.slice()).fail('PaymentRequired', '402');
    (await paused.spent()).answer(spent());
    await paused.phase('paused');
    await paused.stop('its command ended');
    expect((await paused.finish()).input.stopped?.message).toBe('its command ended');
    await paused.handle.terminate();

    const early = await planned();
    const staging = await early.call('stageInput');
    await early.pause();
    await staging.cancelled;
    staging.cancel();
    await early.phase('paused');
    await early.stop('its command ended');
    (await early.call('stageInput')).answer({ staged: early.staged });
    (await early.call('openJob')).answer(early.openedJob([0]));
    (await early.spent()).answer(spent());
    expect((await early.finish()).input.stopped?.message).toBe('its command ended');
    expect(early.waiting('enrichSlice')).toBe(0);
    await early.handle.terminate();
  });
});

describe('a cancel of a job of agent runs', () => {
  it('ends the runs of all slices that are not done, after its calls have landed', async () => {
    const job = await opened({ operation: 'agent', slices: [0, 1, 2] });
    const [first, second] = await job.both();
    await job.handle.cancel();
    await Promise.all([first.cancelled, second.cancelled]);
    first.cancel();
    await delay(50);
    expect(job.waiting('endRuns')).toBe(0);
    second.answer(result());
    const end = await job.call<{ readonly slices: readonly object[]; readonly withinMs: number }>('endRuns');
    expect(end.input.slices).toEqual([
      [0, 0],
      [2, 2],
    ]);
    expect(end.input.withinMs).toBeLessThan(12_000);
    end.answer({ runs: 4, left: 2 });
    await expect(job.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(await job.progress()).toMatchObject({
      phase: 'cancelled',
      message: 'cancelled, with 4 runs at the service; 2 more did not end and are left running: see agent list',
    });
  });

  it('leaves the runs to the next run of a job that is handed over', async () => {
    const job = await opened({ operation: 'agent', slices: [0] });
    const slice = await job.slice();
    await job.handle.signal(signalNames.handOver);
    await job.handle.cancel();
    await slice.cancelled;
    slice.cancel();
    await expect(job.handle.result()).rejects.toThrow();
    expect(job.waiting('endRuns')).toBe(0);
  });
});

describe('the second pass of a row job', () => {
  const pass = { slices: [1], units: 3, tags: ['CRAWL_TIMEOUT'], before: 500 };
  const freshness = { freshAfter: 7 };

  it('buys the failed rows once more after all slices, and counts what passed', async () => {
    const job = await planned({ retries: true, input: { stopAtFailed: { percent: 1, after: 1 } } });
    (await job.call('stageInput')).answer({ staged: job.staged, freshness });
    (await job.call('openJob')).answer(job.openedJob([0, 1], { adopts: true }));
    const [first, second] = await job.both();
    first.answer(result());
    expect(job.waiting('openRetry')).toBe(0);
    second.answer(result({ failed: 3 }));
    const open = await job.openRetry();
    expect(open.input).toMatchObject({ staged: { job: 'rows-1' }, redrive: false });
    open.answer(pass);
    const again = await job.slice();
    expect(again.input).toMatchObject({
      ...{ slice: 1, carried: true, adopts: false },
      freshness: { freshAfter: 7, retryTags: ['CRAWL_TIMEOUT'], retryBefore: 500, onlyMarked: true },
    });
    expect(again.input.stopAtFailed).toBeUndefined();
    expect(await job.progress()).toMatchObject({ retrying: 3, failed: 3, rows: 20, rowsDone: 20, slicesDone: 2 });
    again.answer(result({ bought: 3, failed: 1 }));
    const finish = await job.finish();
    expect(finish.input).toMatchObject({ retried: { units: 3, failedAgain: 1 }, freshness });
    expect(await job.progress()).toMatchObject({ failed: 1, requests: 3 });
    expect((await job.progress()).retrying).toBeUndefined();
    finish.answer({ phase: 'done' });
    await job.handle.result();
  });

  it('buys the failed units of several slices in one activity', async () => {
    const job = await opened({ retries: true, slices: [0, 1, 2, 3, 4] });
    for (let nth = 0; nth < 5; nth++) (await job.slice()).answer(result({ failed: 1 }));
    (await job.openRetry()).answer({ ...pass, slices: [0, 4], units: 5, slicesPerPiece: 4 });
    const retry = () => job.call<RetryRowsInput>('retryRows');
    const [first, second] = [await retry(), await retry()].sort((a, b) => a.input.slice - b.input.slice);
    expect(first?.input).toMatchObject({ slice: 0, to: 4, adopts: false, freshness: { onlyMarked: true } });
    expect(second?.input).toMatchObject({ slice: 4, to: 5 });
    expect(job.waiting('enrichSlice')).toBe(0);
    first?.answer(result({ bought: 4, failed: 1, complete: false }));
    const rest = await retry();
    expect(rest.input).toMatchObject({ slice: 0, to: 4 });
    rest.answer(result({ bought: 0 }));
    second?.answer(result({ bought: 1 }));
    expect((await job.finish()).input).toMatchObject({ retried: { units: 5, failedAgain: 1 } });
    await job.handle.terminate();
  });

  it('can be paused and resumed, and is not planned again', async () => {
    const job = await opened({ retries: true, slices: [0] });
    (await job.slice()).answer(result({ failed: 2 }));
    (await job.openRetry()).answer({ ...pass, slices: [0], units: 2 });
    const again = await job.slice();
    await job.pause();
    await again.cancelled;
    again.answer(result({ complete: false, bought: 1 }));
    const paused = await job.spent();
    expect(paused.input.paused).toMatchObject({ slices: [0], freshness: { retryBefore: 500, onlyMarked: true } });
    paused.answer(spent());
    await job.phase('paused');
    await job.resume();
    const rest = await job.slice();
    expect(rest.input.freshness).toMatchObject({ retryBefore: 500 });
    rest.answer(result({ bought: 1, failed: 1 }));
    expect((await job.finish()).input).toMatchObject({ retried: { units: 2, failedAgain: 1 } });
    expect(job.waiting('openRetry')).toBe(0);
    await job.handle.terminate();
  });

  it('includes charged failures if the input or a resume asks for them, and is left out by a stopped run', async () => {
    const asked = await opened({ retries: true, slices: [0], input: { redrive: true } });
    (await asked.slice()).answer(result());
    expect((await asked.openRetry()).input).toMatchObject({ redrive: true });
    await asked.handle.terminate();

    const resumed = await opened({ retries: true, slices: [0] });
    await resumed.handle.signal(signalNames.resume, { redrive: true });
    (await resumed.slice()).answer(result());
    expect((await resumed.openRetry()).input).toMatchObject({ redrive: true });
    await resumed.handle.terminate();

    const stopped = await opened({ retries: true, slices: [0] });
    const slice = await stopped.slice();
    await stopped.stop('its command ended');
    slice.answer(result({ complete: false }));
    (await stopped.spent()).answer(spent());
    expect((await stopped.finish()).input).not.toHaveProperty('retried');
    expect(stopped.waiting('openRetry')).toBe(0);
    await stopped.handle.terminate();
  });
});
