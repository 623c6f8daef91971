import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StagedJob } from '../../../src/core/job-entry-schemas.js';
import { type EnrichCsvInput, type JobProgress, jobProgress, runBounds } from '../../../src/core/row-job-schemas.js';
import { spentOf } from '../../../src/core/rows/pause.js';
import {
  capOf,
  earlierOf,
  jobDetails,
  progressOf,
  type RowJobState,
} from '../../../src/workflows/rows/row-job-state.js';
import { RangeQueue, toRanges } from '../../../src/workflows/shared/range-queue.js';

describe('a queue of slices', () => {
  const slices = fc.uniqueArray(fc.nat(60), { maxLength: 40 });

  it('holds its original slices, packed and in order', () => {
    fc.assert(
      fc.property(slices, (numbers) => {
        const queue = new RangeQueue(toRanges(numbers));
        expect(queue.numbers).toEqual(numbers.toSorted((a, b) => a - b));
        expect(queue.size).toBe(numbers.length);
        for (const [index, [from]] of queue.ranges.entries())
          expect(from).toBeGreaterThan((queue.ranges[index - 1]?.[1] ?? -2) + 1);
      }),
    );
  });

  it('returns each slice once, also slices that were put back at either end', () => {
    fc.assert(
      fc.property(slices, fc.array(fc.constantFrom('take', 'back', 'last')), (numbers, steps) => {
        const queue = new RangeQueue(toRanges(numbers));
        let left = numbers.toSorted((a, b) => a - b);
        const taken: number[] = [];
        for (const step of steps) {
          if (step === 'take') {
            expect(queue.take()).toBe(left[0]);
            taken.push(...left.slice(0, 1));
            left = left.slice(1);
          } else {
            const one = taken.pop();
            if (one === undefined) continue;
            if (step === 'back') queue.putBack(one);
            else queue.putLast(one);
            left = step === 'back' ? [one, ...left] : [...left, one];
          }
          // The queue is the same after its ranges have gone through a continue-as-new.
          expect(new RangeQueue(queue.ranges).numbers).toEqual(left);
          expect(queue.size).toBe(left.length);
        }
      }),
    );
  });
});

/** A job of 100 rows in slices of 40. */
const staged = { job: 'rows-1', rows: 100, slices: 3, rowsPerSlice: 40 } as StagedJob;
const state = (changes: Partial<RowJobState> = {}) =>
  ({
    ...{ staged, paused: null, requests: 2, failed: 1, costMicros: 5, unknownOutcomes: 3 },
    before: { requests: 0, costMicros: 1000, committedMicros: 1200, unknownOutcomes: 0 },
    maxCostMicros: null,
    ...changes,
  }) as RowJobState;

it('the cap of a run starts from the earlier cost of the job, money in flight included, if one was given', () => {
  expect(capOf(state({ maxCostMicros: 500 }))).toBe(1700);
  expect(capOf(state({ maxCostMicros: 0 }))).toBe(1200);
  expect(capOf(state())).toBeUndefined();
});

it('the spending of a run has what is held for its runs, and leaves out what an earlier run had reserved', () => {
  const none = { requests: 0, listMicros: 0, unknownOutcomes: 0 };
  const before = { ...none, costMicros: 100, committedMicros: 400, openMicros: 300, openSinceMicros: 0 };
  // Of 300 reserved by an earlier run, 200 have landed; this run bought for 50 and holds 70.
  const now = { ...none, costMicros: 350, committedMicros: 520, openMicros: 170, openSinceMicros: 70 };
  expect(spentOf('agent', before, now)).toEqual({ countedMicros: 120, heldMicros: 70, heldFor: 'runs' });
  expect(spentOf('search', before, now)).toMatchObject({ heldFor: 'requests' });
  expect(earlierOf(before, now)).toBe(200);
});

describe('the progress of a job', () => {
  const input = { input: 'rows.csv' } as EnrichCsvInput;

  it('counts the rows of loaded slices', () => {
    const progress = (undone: readonly number[]) => progressOf(input, state(), { running: [], queued: undone }, 'w');
    expect(progress([0, 1, 2])).toMatchObject({ job: 'rows-1', rows: 100, rowsDone: 0, slices: 3, slicesDone: 0 });
    expect(progress([2])).toMatchObject({ rowsDone: 80, slicesDone: 2 });
    expect(progress([])).toMatchObject({ rowsDone: 100, slicesDone: 3, requests: 2, failed: 1, costMicros: 5 });
  });

  it('counts only the requested rows', () => {
    const limited = state({ staged: { ...staged, limit: 50 } });
    const progress = progressOf(input, limited, { running: [], queued: [1] }, 'w');
    expect(progress).toMatchObject({ rows: 50, rowsDone: 40, slices: 2, slicesDone: 1 });
  });

  it('counts loaded rows of slices that are not done, and leaves those of a slice in progress to its heartbeat', () => {
    const partial = [
      [0, 30],
      [1, 10],
      [2, 20],
    ] as const;
    const rowsDone = (running: readonly number[], queued: readonly number[], changes: Partial<RowJobState> = {}) =>
      progressOf(input, state({ partial, ...changes }), { running, queued }, 'w').rowsDone;
    expect(rowsDone([], [1, 2])).toBe(40 + 10 + 20);
    expect(rowsDone([1], [2])).toBe(40 + 20);
    // The heartbeats of a carried job count only newly bought rows, so the loaded rows are added.
    expect(rowsDone([1], [2], { carried: true })).toBe(40 + 10 + 20);
    expect(rowsDone([], [])).toBe(100);
    expect(rowsDone([], [1], { staged: { ...staged, limit: 45 } })).toBe(40 + 5);
  });

  it('is empty before there is a plan, under the name of its workflow', () => {
    const progress = progressOf(input, null, { running: [], queued: [] }, 'searchflow-rows-1');
    expect(progress).toMatchObject({ job: 'rows-1', rows: 0, rowsDone: 0 });
  });

  it('has the bounds of a run that its text shows; the others are named here', () => {
    const values = { maxCostMicros: 7_000_000, stopAtFailed: { percent: 5, after: 20 } };
    const progress = progressOf(input, state(), { running: [], queued: [] }, 'w') as JobProgress;
    for (const [name, value] of Object.entries(values))
      expect(jobDetails({ ...progress, [name]: value }), name).not.toBe(jobDetails(progress));
    const names = Object.keys(runBounds.shape).map((name) => name.replace('Dollars', 'Micros'));
    expect(names.filter((name) => name in jobProgress.shape)).toEqual(Object.keys(values));
    const others = names.filter((name) => !(name in jobProgress.shape));
    expect(others).toEqual(['maxRunSeconds', 'redrive', 'skipRefused', 'acceptWarnings', 'publish']);
  });
});
