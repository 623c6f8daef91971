import { describe, expect, it } from 'vitest';
import { runCampaign } from '../../chaos/campaign.mjs';

/** SEARCHFLOW_SEED chooses the campaign. */
const seed = Number(process.env.SEARCHFLOW_SEED ?? 1);

describe.runIf(process.platform === 'linux')('300 kills', () => {
  it.each([
    ['rows', 100],
    ['search', 30],
    ['agents', 30],
    ['events', 60],
    ['monitors', 20],
    ['postgres', 60],
  ] as const)(
    'faults 2 to 6, 8, 22, 24, 26, 31, 39, 46, 49 and 52: %s keep every promise through %i disturbances',
    async (shape, kills) => {
      const { findings } = await runCampaign({ shape, kills, seed, say: console.log });
      expect(findings).toEqual([]);
    },
    4 * 3_600_000,
  );
});
