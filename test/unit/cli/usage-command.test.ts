import { describe, expect, it } from 'vitest';
import type { Context } from '../../../src/cli/shared/command.js';
import { usage } from '../../../src/cli/usage.js';
import type { UsageLine } from '../../../src/core/purchase/spend.js';
import { fakeContext, fakeRuntime, spend } from '../../support/cli/fake-runtime.js';
import { flagsOf } from '../../support/cli/read-flags.js';

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

/** Runs `searchflow usage` with flags as a person types them. */
function typed(context: Context, given: object) {
  const { flags, mistakes } = flagsOf('usage', given);
  return usage({ ...context, mistakes }, flags);
}

function team(lines: readonly UsageLine[], flags = {}) {
  const asked: unknown[] = [];
  const { runtime } = fakeRuntime({
    spend: async () => ({
      ...spend,
      usage: async (...args) => {
        asked.push(args);
        return lines;
      },
    }),
  });
  return { asked, ...fakeContext(runtime, { flags }) };
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

  it('queries whole days of UTC, the last one included', async () => {
    const { context, asked, out } = team([], { json: true });
    await typed(context, { by: 'operation', since: '2026-11-01', until: '2026-11-02' });
    expect(asked).toEqual([['operation', Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 3)]]);
    expect(JSON.parse(out())).toMatchObject({ kind: 'usage', by: 'operation', lines: [], total: { landedDollars: 0 } });
  });

  it('refuses invalid days, together', async () => {
    const { context, asked } = team([]);
    await expect(typed(context, { by: 'job', since: '2026-02-31', until: 'today' })).rejects.toThrow(
      /^--since: '2026-02-31' .*\n--until: 'today' /,
    );
    const inverted = { by: 'job', since: '2026-11-02', until: '2026-11-01' };
    await expect(typed(context, inverted)).rejects.toThrow('must not be after');
    expect(asked).toEqual([]);
  });
});
