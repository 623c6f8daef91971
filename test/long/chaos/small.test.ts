import { expect, it } from 'vitest';
import { runCampaign } from '../../chaos/campaign.mjs';

it.runIf(process.platform === 'linux').each([
  ['rows', 'duckdb', 5],
  ['events', 'duckdb', 3],
  ['events', 'postgres', 3],
] as const)(
  'faults 4, 5, 6, 8, 24, 31, 39, 46, 49 and 52: %s into %s under a small campaign are loaded once, and the bill is that of the service',
  async (shape, into, kills) => {
    const { findings, done } = await runCampaign({ shape, into, kills, seed: 1 });
    expect(findings).toEqual([]);
    expect(Object.values(done).reduce((sum, times) => sum + times, 0)).toBe(kills);
  },
  600_000,
);
