import { describe, expect, it } from 'vitest';
import { type BilledDay, type BilledPrice, reconcile } from '../../../src/core/purchase/reconcile.js';
import type { UsageLine } from '../../../src/core/purchase/spend.js';

const line = (group: string, landedMicros: number, changes: Partial<UsageLine> = {}): UsageLine => ({
  ...{ group, requests: 1, units: 1, landedMicros, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 },
  ...changes,
});
const billed = (day: string, micros: number, prices: readonly BilledPrice[] = [], roundedMicros = 0): BilledDay => ({
  ...{ day, micros, prices, roundedMicros, keys: [] },
});
const pages = (quantity: number, each: number): BilledPrice => ({
  ...{ id: 'pages', name: 'Pages', quantity, micros: quantity * each },
});

/** The parts of a day that are not zero. */
const partsOf = (journal: readonly UsageLine[], bill: readonly BilledDay[]) =>
  reconcile(journal, bill).days.map((day) =>
    Object.fromEntries(
      Object.entries(day).filter(
        ([name, value]) => /^(unknown|price|otherDay|rounding|unexplained)Micros$/.test(name) && value,
      ),
    ),
  );

describe('the comparison of journal and bill', () => {
  it('agrees where each day has the same amount', () => {
    const result = reconcile([line('2026-11-20', 5000)], [billed('2026-11-20', 5000), billed('2026-11-21', 0)]);
    expect(result).toMatchObject({ agrees: true, changes: [] });
    expect(result.days.map(({ differenceMicros }) => differenceMicros)).toEqual([0, 0]);
  });

  it('explains a higher bill by unknown outcomes and requests in flight, up to their estimates', () => {
    const unknown = { unknownOutcomes: 1, unknownMicros: 2000, openMicros: 500 };
    expect(partsOf([line('d', 5000, unknown)], [billed('d', 7500)])).toEqual([{ unknownMicros: 2500 }]);
    expect(partsOf([line('d', 5000, unknown)], [billed('d', 6000)])).toEqual([{ unknownMicros: 1000 }]);
    expect(partsOf([line('d', 5000, unknown)], [billed('d', 9000)])).toEqual([
      { unknownMicros: 2500, unexplainedMicros: 1500 },
    ]);
    expect(reconcile([line('d', 5000, unknown)], [billed('d', 9000)]).agrees).toBe(false);
  });

  it('never explains a lower bill by unknown outcomes', () => {
    expect(partsOf([line('d', 5000, { unknownMicros: 2000 })], [billed('d', 4000)])).toEqual([
      { unexplainedMicros: -1000 },
    ]);
  });

  it('balances days next to each other, because a run is charged at its end', () => {
    const journal = [line('2026-11-20', 5000), line('2026-11-21', 1000)];
    expect(partsOf(journal, [billed('2026-11-20', 4000), billed('2026-11-21', 2000)])).toEqual([
      { otherDayMicros: -1000 },
      { otherDayMicros: 1000 },
    ]);
    expect(partsOf(journal, [billed('2026-11-20', 4000), billed('2026-11-21', 2500)])).toEqual([
      { otherDayMicros: -1000 },
      { otherDayMicros: 1000, unexplainedMicros: 500 },
    ]);
    const apart = [billed('2026-11-20', 4000), billed('2026-11-21', 1000), billed('2026-11-22', 1000)];
    expect(partsOf(journal, apart)).toEqual([{ unexplainedMicros: -1000 }, {}, { unexplainedMicros: 1000 }]);
  });

  it('explains a difference by a price that changed after a day whose answers had the old price', () => {
    const bill = [billed('1', 100_000, [pages(100, 1000)]), billed('2', 200_000, [pages(100, 2000)])];
    const result = reconcile([line('1', 100_000), line('2', 100_000)], bill);
    expect(result.days[1]).toMatchObject({ priceMicros: 100_000, unexplainedMicros: 0 });
    expect(result.changes).toEqual([{ day: '2', name: 'Pages', before: 1000, after: 2000 }]);
  });

  it('names no change of a price that the answers already have, and none for more units at the same price', () => {
    const bill = [billed('1', 100_000, [pages(100, 1000)]), billed('2', 200_000, [pages(100, 2000)])];
    expect(reconcile([line('1', 100_000), line('2', 200_000)], bill)).toMatchObject({ agrees: true, changes: [] });
    const more = [billed('1', 100_000, [pages(100, 1000)]), billed('2', 200_000, [pages(200, 1000)])];
    expect(partsOf([line('1', 100_000), line('2', 100_000)], more)[1]).toEqual({ unexplainedMicros: 100_000 });
  });

  it('accepts half a cent where the service gives whole cents', () => {
    expect(partsOf([line('d', 13_000)], [billed('d', 10_000, [], 5000)])).toEqual([{ roundingMicros: -3000 }]);
    expect(partsOf([line('d', 16_000)], [billed('d', 10_000, [], 5000)])).toEqual([{ unexplainedMicros: -6000 }]);
  });
});
