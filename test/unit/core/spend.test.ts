import { describe, expect, it } from 'vitest';
import { costMultiple, OverBudget, observedMultiple, reservedMicros } from '../../../src/core/purchase/spend.js';
import { lostMicros } from '../../../src/store/file/spend.js';

describe('the cost of answers as a multiple of their list price', () => {
  it.each([
    ['as listed', 1000, { costMicros: 1000, units: 1, charged: 1 }, 1],
    ['three times as much', 1000, { costMicros: 3000, units: 1, charged: 1 }, 3],
    ['its list price for a part of its units', 10_000, { costMicros: 4000, units: 10, charged: 4 }, 1],
    ['nothing although it succeeded', 1000, { costMicros: 0, units: 1, charged: 1 }, 0],
    ['although no unit succeeded', 10_000, { costMicros: 5000, units: 10, charged: 0 }, 0.5],
  ])('is known from an answer that cost %s', (_, listMicros, answer, multiple) => {
    expect(costMultiple(listMicros, answer)).toBeCloseTo(multiple);
  });

  it.each([
    ['failed units are free', 1000, { costMicros: 0, units: 1, charged: 0 }],
    ['a list price of nothing', 0, { costMicros: 1000, units: 1, charged: 1 }],
  ])('is not known: %s', (_, listMicros, answer) => {
    expect(costMultiple(listMicros, answer)).toBeNull();
  });

  it('is the 95th percentile, in any order of answers', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(observedMultiple(hundred)).toBe(95);
    expect(observedMultiple(hundred.toReversed())).toBe(95);
    expect(observedMultiple([5, 1, 1])).toBe(5);
    expect(observedMultiple([2])).toBe(2);
    expect(observedMultiple([])).toBe(0);
  });
});

it('a request reserves the higher of the price table and earlier costs', () => {
  expect(reservedMicros({ estimateMicros: 1000 }, 0)).toBe(1000);
  expect(reservedMicros({ estimateMicros: 1000 }, 0.5)).toBe(1000);
  expect(reservedMicros({ estimateMicros: 1000 }, 1.5)).toBe(1500);
  // The estimate of a run with a budget is the budget. It is reserved unless the list price times the ratio of earlier costs is higher.
  expect(reservedMicros({ estimateMicros: 2000, listMicros: 1000 }, 1.5)).toBe(2000);
  expect(reservedMicros({ estimateMicros: 2000, listMicros: 1000 }, 2.5)).toBe(2500);
  expect(reservedMicros({ estimateMicros: 0, listMicros: 3 }, 1.5)).toBe(5);
});

it.each([
  ['its estimate, before three answers have shown their cost', [1, 1], 15_000],
  ['its list price after cheap answers', [1, 0.5, 0.5], 7000],
  ['the cost of most answers, if they cost more than the list price', [1, 1, 1.5], 10_500],
  ['its estimate at most', [1, 1, 4], 15_000],
])('a request without an answer counts at %s', (_, multiples, micros) => {
  expect(lostMicros({ estimateMicros: 15_000, listMicros: 7000 }, multiples)).toBe(micros);
});

it.each([
  ['job', "the job's budget of $1.50 is used up"],
  ['call', "the call's budget of $1.50 is used up"],
  ['worker', "this worker's budget of $1.50 for a run of a job (maxCostPerJob) is used up"],
  ['day', "the team's budget of $1.50 a day is used up until 2026-11-23T00:00:00.000Z"],
  ['month', "the team's budget of $1.50 a month is used up until 2026-11-23T00:00:00.000Z"],
] as const)('a %s over its budget shows which one and until when', (scope, message) => {
  const error = new OverBudget(scope, 1_500_000, 0, 0, Date.UTC(2026, 10, 23));
  expect(error).toMatchObject({ message, multiple: 0, unproven: false });
});
