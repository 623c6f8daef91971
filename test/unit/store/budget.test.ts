import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { reserve } from '../../../src/store/spend/budget-check.js';
import { FileCaps } from '../../../src/store/spend/file-caps.js';
import { SpendSums } from '../../../src/store/spend/spend-sums.js';
import { folderOfTest } from '../../support/files/folders.js';
import { intent } from '../../support/store/journal-contract.js';

const noon = Date.UTC(2026, 10, 21, 12);
const day = 86_400_000;

describe('the caps of a purchase', () => {
  const asked = (estimateMicros: number, at: number, more: object = {}) => ({
    ...{ team: 'team', segment: 'job/gen/0', operation: 'contents', tier: '', units: 1, listMicros: estimateMicros },
    ...{ estimateMicros, at, ...more },
  });
  /** Tries to reserve 1,000 micro-dollars under these caps. Returns the remaining budget, or the facts of the refusal. */
  const takes = (
    sums: SpendSums,
    dayMicros: number | null,
    monthMicros: number | null,
    capMicros: number | null = null,
  ) => {
    const cap = capMicros === null ? {} : { cap: { bookPrefix: 'job/', limitMicros: capMicros } };
    const wanted = { ...intent('o', [1]), segment: 'job/gen/1', operation: 'contents', estimateMicros: 1000, ...cap };
    const taken = reserve(sums, { dayMicros, monthMicros }, 'team', wanted, noon, () => false);
    if (!(taken instanceof OverBudget)) return taken;
    return [taken.scope, taken.capMicros, taken.remainingMicros, taken.openMicros, taken.resetsAt];
  };
  /** 3,000 landed today, 500 are in flight, and 4,000 landed yesterday. Purchases of another team or another month do not count. */
  const spent = () => {
    const sums = new SpendSums();
    const land = (id: string, costMicros: number, at: number, more: object = {}) => {
      sums.opened(id, asked(costMicros, at, more));
      sums.landed(id, { costMicros, units: 1, charged: 1 }, asked(costMicros, at, more));
    };
    for (const nth of [1, 2, 3]) land(`a${nth}`, 1000, noon);
    land('b', 4000, noon - day);
    land('c', 90_000, noon, { team: 'other', segment: 'other/gen/0' });
    land('d', 90_000, noon - 30 * day, { segment: 'old/gen/0' });
    sums.opened('e', asked(500, noon));
    return sums;
  };
  const nextDay = Date.UTC(2026, 10, 22);
  const nextMonth = Date.UTC(2026, 11, 1);

  it('are the day’s, the month’s and the job’s, each with its end', () => {
    expect(takes(spent(), null, null)).toBe(1000);
    expect(takes(spent(), 4500, null)).toBe(1000);
    expect(takes(spent(), 4499, null)).toEqual(['day', 4499, 999, 500, nextDay]);
    expect(takes(spent(), null, 8500)).toBe(1000);
    expect(takes(spent(), null, 8499)).toEqual(['month', 8499, 999, 500, nextMonth]);
    expect(takes(spent(), null, null, 8500)).toBe(1000);
    expect(takes(spent(), null, null, 8499)).toEqual(['job', 8499, 999, 500, null]);
    expect(takes(spent(), 1, null)).toEqual(['day', 1, 0, 500, nextDay]);
  });

  it('are reported by the one with the smallest remainder', () => {
    expect(takes(spent(), 4499, 8498)).toEqual(['month', 8498, 998, 500, nextMonth]);
    expect(takes(spent(), 4497, 8498)).toEqual(['day', 4497, 997, 500, nextDay]);
    expect(takes(spent(), 4499, 8498, 8000)).toEqual(['job', 8000, 500, 500, null]);
  });

  it('count the cost of earlier answers if that is more than the price table says', () => {
    const sums = new SpendSums();
    for (const nth of [1, 2, 3]) {
      sums.opened(`${nth}`, asked(1000, noon));
      sums.landed(`${nth}`, { costMicros: 2000, units: 1, charged: 1 }, asked(1000, noon));
    }
    expect(takes(sums, 8000, null)).toBe(2000);
    expect(takes(sums, 7999, null)).toEqual(['day', 7999, 1999, 0, nextDay]);
  });

  it('allow two requests of a kind before their first answers, and count only those of the last day', () => {
    const sums = new SpendSums();
    sums.opened('old', asked(1000, noon - day - 1));
    sums.opened('one', asked(1000, noon - 1));
    expect(takes(sums, 1e9, null)).toBe(1000);
    sums.opened('two', asked(1000, noon));
    expect(takes(sums, 1e9, null)).toEqual(['day', 1e9, 1e9 - 2000, 2000, nextDay]);
    expect(takes(sums, null, null)).toBe(1000);
  });
});

it('belong to each team, and are read again after another process has set them', async () => {
  const dir = folderOfTest();
  const path = join(dir, 'caps.json');
  const [mine, theirs] = [new FileCaps(path), new FileCaps(path)];
  const none = { dayMicros: null, monthMicros: null };
  expect(mine.get('a')).toEqual(none);
  await mine.set('a', { dayMicros: 1, monthMicros: null });
  await theirs.set('b', { dayMicros: null, monthMicros: 2 });
  expect([mine.get('a'), mine.get('b'), theirs.get('a')]).toEqual([
    { dayMicros: 1, monthMicros: null },
    { dayMicros: null, monthMicros: 2 },
    { dayMicros: 1, monthMicros: null },
  ]);
  // Another client writes a file of the same length, and the file keeps its time of change.
  const known = new Date(1_700_000_000_000);
  utimesSync(path, known, known);
  expect(mine.get('a').dayMicros).toBe(1);
  writeFileSync(
    path,
    JSON.stringify({ a: { dayMicros: 3, monthMicros: null }, b: { dayMicros: null, monthMicros: 2 } }, null, 2).concat(
      '\n',
    ),
  );
  expect([mine.get('a').dayMicros, mine.get('c')]).toEqual([3, none]);
  writeFileSync(path, '{"a": {"dayMicros": -1, "monthMicros": null}}');
  expect(() => mine.get('a')).toThrow(/The file of the team's caps is damaged: /);
});
