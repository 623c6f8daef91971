import { expect, it } from 'vitest';
import { type BilledDay, reconcile } from '../../../src/core/purchase/reconcile.js';
import type { UsageLine } from '../../../src/core/purchase/spend.js';

const line = (group: string, landedMicros: number, changes: Partial<UsageLine> = {}): UsageLine => ({
  ...{ group, requests: 1, units: 1, landedMicros, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 },
  ...changes,
});
const billed = (day: string, micros: number, roundedMicros = 0): BilledDay => ({
  day,
  serviceMicros: micros,
  roundedMicros,
  keys: [],
});

/** The difference of each day, the part that unknown outcomes explain, and the part without an explanation. */
const partsOf = (journal: readonly UsageLine[], bill: readonly BilledDay[]) =>
  reconcile(journal, bill).map((day) => [day.differenceMicros, day.unknownMicros, day.unexplainedMicros]);

it('agrees where each day has the same amount', () => {
  expect(partsOf([line('1', 5000)], [billed('1', 5000), billed('2', 0)])).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ]);
});

it('explains a higher bill by unknown outcomes and requests in flight, up to their estimates, and never a lower one', () => {
  const unknown = { unknownOutcomes: 1, unknownMicros: 2000, openMicros: 500 };
  expect(partsOf([line('d', 5000, unknown)], [billed('d', 7500)])).toEqual([[2500, 2500, 0]]);
  expect(partsOf([line('d', 5000, unknown)], [billed('d', 6000)])).toEqual([[1000, 1000, 0]]);
  expect(partsOf([line('d', 5000, unknown)], [billed('d', 9000)])).toEqual([[4000, 2500, 1500]]);
  expect(partsOf([line('d', 5000, unknown)], [billed('d', 4000)])).toEqual([[-1000, 0, -1000]]);
});

it('balances days next to each other, because a run is charged at its end', () => {
  const unexplained = (bill: readonly BilledDay[]) =>
    partsOf([line('1', 5000), line('2', 1000)], bill).map((parts) => parts[2]);
  expect(unexplained([billed('1', 4000), billed('2', 2000)])).toEqual([0, 0]);
  expect(unexplained([billed('1', 4000), billed('2', 2500)])).toEqual([0, 500]);
  expect(unexplained([billed('1', 4000), billed('2', 1000), billed('3', 1000)])).toEqual([-1000, 0, 1000]);
});

it('accepts half a cent where the service gives whole cents', () => {
  expect(partsOf([line('d', 13_000)], [billed('d', 10_000, 5000)])).toEqual([[-3000, 0, 0]]);
  expect(partsOf([line('d', 16_000)], [billed('d', 10_000, 5000)])).toEqual([[-6000, 0, -6000]]);
});
