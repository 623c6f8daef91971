import { describe, expect, it } from 'vitest';
import { flatProfile, rateProfiles } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { limiterContract, pass } from '../../support/store/limiter-contract.js';

limiterContract('MemoryLimiter', async () => new MemoryLimiter(flatProfile(20)));

describe('the memory limiter', () => {
  it('starts with a full ring, because its predecessor may have used the whole window just now', async () => {
    const limiter = new MemoryLimiter(flatProfile(20));
    const made = performance.now();
    expect((await pass(limiter)) - made).toBeGreaterThanOrEqual(1000);
    await limiter.close();
  });

  it('starts at once if certainly no process has used the limit just now, and then keeps the limit', async () => {
    const limiter = new MemoryLimiter(flatProfile(2), { unused: true });
    expect((await limiter.view()).buckets.map(({ used }) => used)).toEqual([0]);
    const first = await pass(limiter);
    await pass(limiter);
    expect((await pass(limiter)) - first).toBeGreaterThanOrEqual(1000);
    await limiter.close();
  });

  it('uses every bucket that names the class, and the first one for unknown classes', async () => {
    const limiter = new MemoryLimiter({
      name: 'two',
      buckets: [
        { name: 'all', qps: 100, classes: ['search', 'search.deep'] },
        { name: 'deep', qps: 1, classes: ['search.deep'] },
      ],
    });
    await pass(limiter, { rateClass: 'search.deep', weight: 1 });
    const free = new AbortController();
    const second = pass(limiter, { rateClass: 'search.deep', weight: 1 }, free.signal);
    await pass(limiter, { rateClass: 'unheard-of', weight: 1 });
    free.abort();
    await expect(second).rejects.toThrow();
    await limiter.close();
  });

  it('has profiles whose every bucket allows at least one unit a second', () => {
    for (const profile of Object.values(rateProfiles))
      for (const bucket of profile.buckets) expect(bucket.qps).toBeGreaterThanOrEqual(1);
  });
});
