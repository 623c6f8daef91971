import { describe, expect, it } from 'vitest';
import { usage } from '../../../src/cli/usage.js';
import type { UsageLine } from '../../../src/core/purchase/spend.js';
import { fakeContext, fakeRuntime, spend } from '../../support/cli/fake-runtime.js';

const line = (group: string, changes: Partial<UsageLine> = {}): UsageLine => ({
  group,
  requests: 10,
  units: 1000,
  landedMicros: 1_000_000,
  openMicros: 0,
  unknownOutcomes: 0,
  unknownMicros: 0,
  ...changes,
});

function team(lines: readonly UsageLine[]) {
  const { runtime } = fakeRuntime({
    spend: async () => ({
      ...spend,
      usage: async () => lines,
    }),
  });
  return fakeContext(runtime);
}

describe('searchflow usage', () => {
  it('shows a line for each group and their sum, and no column that is zero throughout', async () => {
    const { context, out } = team([line('brands-1'), line('calls', { requests: 3, units: 3, landedMicros: 21_000 })]);
    expect(await usage(context, { by: 'job' })).toBe(0);
    expect(out().trimEnd().split('\n')).toEqual([
      'job       requests  units   spent',
      'brands-1        10  1,000   $1.00',
      'calls            3      3  $0.021',
      'total           13  1,003  $1.021',
    ]);
  });

  it('shows money in flight and unknown outcomes, if there are any', async () => {
    const { context, out } = team([
      line('2026-11-21', { openMicros: 5000, unknownOutcomes: 2, unknownMicros: 40_000 }),
    ]);
    await usage(context, { by: 'day' });
    expect(out()).toMatch(/in flight \(max\.\) +unknown outcomes +possibly charged\n.*\$0\.005 +2 +\$0\.04\n/);
  });
});
