import { describe, expect, it } from 'vitest';
import { type Grant, idleView, type Limiter, type RateCost, takeTurn } from '../../../src/core/limiter/limiter.js';
import { flatProfile, type RateProfile, rateProfiles } from '../../../src/core/limiter/rate.js';

const rateCost: RateCost = { rateClass: 'contents', weight: 1 };

/** A limiter whose starts have the given results, one after the other, and which records its calls. */
function scripted(ends: ('go' | 'blocked')[]) {
  const asked: string[] = [];
  const signals = new Set<AbortSignal | undefined>();
  const limiter = {
    acquire: async (wanted: RateCost, signal?: AbortSignal): Promise<Grant> => {
      asked.push('acquire');
      signals.add(signal);
      return { rateCost: wanted, startAt: asked.length, reservedAt: 0 };
    },
    start: async (grant: Grant, signal?: AbortSignal) => {
      asked.push(`start ${grant.startAt}`);
      signals.add(signal);
      return ends.shift() ?? 'go';
    },
  };
  return { limiter: limiter as Limiter, asked, signals };
}

describe('taking a turn', () => {
  it('takes one grant and waits for its time, under the caller’s signal', async () => {
    const { limiter, asked, signals } = scripted(['go']);
    const { signal } = new AbortController();
    await takeTurn(limiter, rateCost, signal);
    expect(asked).toEqual(['acquire', 'start 1']);
    expect([...signals]).toEqual([signal]);
  });

  it('takes another grant each time a block voids one', async () => {
    const { limiter, asked } = scripted(['blocked', 'blocked', 'go']);
    await takeTurn(limiter, rateCost);
    expect(asked).toEqual(['acquire', 'start 1', 'acquire', 'start 3', 'acquire', 'start 5']);
  });
});

describe('the view of an unused limiter', () => {
  it('shows the full rate, no block, and an empty queue', () => {
    expect(idleView(flatProfile(7))).toEqual({
      profile: 'flat-7',
      qps: 7,
      effectiveQps: 7,
      buckets: [{ name: 'all', qps: 7, effectiveQps: 7, used: 0 }],
      blockedUntil: null,
      blockReason: null,
      waiting: 0,
    });
  });

  it('shows the rate of the first bucket, and every bucket', () => {
    const view = idleView(rateProfiles.public as RateProfile);
    expect(view).toMatchObject({ profile: 'public', qps: 10, effectiveQps: 10 });
    expect(view.buckets.map(({ name, effectiveQps }) => [name, effectiveQps])).toContainEqual(['contents', 100]);
    expect(idleView({ name: 'none', buckets: [] })).toMatchObject({ qps: 0, effectiveQps: 0, buckets: [] });
  });
});
