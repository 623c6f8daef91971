import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Grant, type Limiter, type RateCost, takeTurn } from '../../../src/core/limiter/limiter.js';
import { flatProfile, type RateProfile, rateProfiles } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { QueuedLimiter } from '../../../src/store/limiter/queued-limiter.js';
import type { Block, RateSource } from '../../../src/store/limiter/shared-rates.js';

const rateCost: RateCost = { rateClass: 'contents', weight: 1 };

/** A limiter that records its calls; its starts end as the list says, one after the other. */
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

describe('the start of a grant', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** A limiter whose clock shows `now`. Its rate source grants every start at once. */
  function at(now: number) {
    const asks: string[] = [];
    const late: number[] = [];
    const refused: RateCost[] = [];
    const queued: number[] = [];
    const margins: number[] = [];
    vi.spyOn(performance, 'now').mockReturnValue(now);
    const source = {
      block: null as Block | null,
      ask: async ({ queue, ...asked }: Parameters<RateSource['ask']>[0]) => {
        asks.push(queue);
        queued.push(asked.queued);
        margins.push(asked.margin);
        return { starts: [{ startAt: now, reservedAt: now }], comeAt: now };
      },
      late: (_: Grant, startedAt: number) => void late.push(startedAt),
      refused: (of: RateCost) => void refused.push(of),
      hold: async (block: Block) => {
        source.block = block;
      },
      profile: flatProfile(7),
      view: async () => ({ buckets: [], waiting: 3 }),
    };
    return { limiter: new QueuedLimiter(source as unknown as RateSource), asks, late, refused, queued, margins };
  }
  const granted = (startAt: number): Grant => ({ rateCost, startAt, reservedAt: startAt });

  it('asks for another turn if it was missed by more than 250 ms, and corrects the ring below that', async () => {
    const { limiter, asks, late } = at(10_000);
    expect(await limiter.start(granted(9750))).toBe('go');
    expect([asks, late.splice(0)]).toEqual([[], [10_000]]);
    expect(await limiter.start(granted(9749))).toBe('go');
    expect([asks, late.splice(0)]).toEqual([['contents/1'], []]);
    expect(await limiter.start(granted(9997))).toBe('go');
    expect([asks.length, late]).toEqual([1, []]);
  });

  it('is void while the team is blocked, and a shorter block does not end a longer one', async () => {
    const { limiter, refused } = at(10_000);
    await limiter.block(5000, 'too many requests', rateCost);
    await limiter.block(1000, 'busy', { rateClass: 'free', weight: 0 });
    await limiter.block(2000, 'away');
    expect(await limiter.start(granted(10_000))).toBe('blocked');
    vi.spyOn(performance, 'now').mockReturnValue(14_999);
    expect(await limiter.start(granted(14_999))).toBe('blocked');
    vi.spyOn(performance, 'now').mockReturnValue(15_000);
    expect(await limiter.start(granted(15_000))).toBe('go');
    // The limit counts as exceeded only if the call with the answer 429 used units of it.
    expect(refused).toEqual([rateCost]);
  });

  it('is not made for a caller that has stopped, also if its time has come', async () => {
    const { limiter } = at(10_000);
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(limiter.start(granted(9990), stopped)).rejects.toThrow('stopped');
  });

  it('is asked for with a wide margin at first, then with one for the second latest of the last hundred starts', async () => {
    const { limiter, margins } = at(10_000);
    await limiter.acquire(rateCost);
    for (let start = 0; start < 100; start++) await limiter.start(granted(start < 98 ? 9999 : 9960));
    await limiter.acquire(rateCost);
    for (let start = 0; start < 100; start++) await limiter.start(granted(9800));
    await limiter.acquire(rateCost);
    for (let start = 0; start < 100; start++) await limiter.start(granted(9999));
    await limiter.acquire(rateCost);
    expect(margins).toEqual([0.05, 0.016, 0.025, 0.01]);
  });

  it('that waits in another process is counted, too', async () => {
    const { limiter } = at(10_000);
    expect((await limiter.view()).waiting).toBe(3);
  });

  it('is asked for with the number of answers that the service had queued, each reported once', async () => {
    const { limiter, queued } = at(10_000);
    for (let answers = 0; answers < 3; answers++) limiter.queued(rateCost);
    await limiter.acquire(rateCost);
    await limiter.acquire(rateCost);
    expect(queued).toEqual([3, 0]);
  });
});

describe('a limiter in the memory of a process', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('widens the margin of every bucket that a refused call counts against', async () => {
    const limiter = new MemoryLimiter(rateProfiles.public as RateProfile);
    await limiter.block(1, 'too many requests', { rateClass: 'search.deep', weight: 1 });
    const slower = (await limiter.view()).buckets.filter(({ qps, effectiveQps }) => effectiveQps < qps);
    expect(slower.map(({ name }) => name)).toEqual(['search', 'search.deep']);
    await limiter.close();
  });

  it('counts every unit of a late start from its real time, in each of its buckets', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const limiter = new MemoryLimiter(rateProfiles.public as RateProfile);
    clock.mockReturnValue(5000);
    const grant = await limiter.acquire({ rateClass: 'search.deep', weight: 2 });
    clock.mockReturnValue(5200);
    expect(await limiter.start(grant)).toBe('go');
    clock.mockReturnValue(6100);
    const used = (await limiter.view()).buckets.filter((bucket) => bucket.used > 0);
    expect(used.map((bucket) => [bucket.name, bucket.used])).toEqual([
      ['search', 2],
      ['search.deep', 2],
    ]);
    await limiter.close();
  });
});
