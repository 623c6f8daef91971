import { expect, it } from 'vitest';
import { aboveBudget, figures } from '../../../scripts/check-size.mjs';

it('a figure above its budget is named with both, and a figure without a budget is named', () => {
  const present = { 'src/store': { lines: 7100, files: 3 }, 'src/new': { lines: 1 } };
  expect(aboveBudget(present, { 'src/store': { lines: 7000, files: 3 } })).toEqual([
    'src/store has 7,100 lines, its budget is 7,000: remove 100.',
    'src/new has no budget of lines in scripts/size-budget.json.',
  ]);
});

it('the closure of an entry has the modules that it imports later, and no types', () => {
  const all: Record<string, { lines: number; packages?: number }> = figures();
  const lines = (name: string) => all[name]?.lines ?? 0;
  expect(lines('command')).toBeGreaterThan(lines('searchflow/worker'));
  expect(lines('searchflow/worker')).toBeGreaterThan(lines('searchflow/activities'));
  expect(lines('searchflow/workflows')).toBeLessThan(lines('searchflow'));
});
