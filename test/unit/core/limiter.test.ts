import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Grant, idleView, type Limiter, type RateCost, takeTurn } from '../../../src/core/limiter/limiter.js';
import { flatProfile, type RateProfile, rateProfiles } from '../../../src/core/limiter/rate.js';
import type { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { QueuedLimiter } from '../../../src/store/limiter/queued-limiter.js';
import type { Block, RateSource } from '../../../src/store/limiter/rate-source.js';
import { ReservedLimiter } from '../../../src/store/limiter/reserved-limiter.js';

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

describe('the start of a grant', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** A limiter whose clock is at `now` and whose source grants a start at once. */
  function at(now: number) {
    const asks: string[] = [];
    const late: number[] = [];
    const refused: RateCost[] = [];
    const queued: number[] = [];
    vi.spyOn(performance, 'now').mockReturnValue(now);
    const source = {
      block: null as Block | null,
      ask: async ({ queue, ...asked }: Parameters<RateSource['ask']>[0]) => {
        asks.push(queue);
        queued.push(asked.queued);
        return { starts: [{ startAt: now, reservedAt: now }], comeAt: now };
      },
      late: (_: Grant, startedAt: number) => void late.push(startedAt),
      refused: (of: RateCost) => void refused.push(of),
      hold: async (block: Block) => {
        source.block = block;
      },
    };
    return { limiter: new QueuedLimiter(source as unknown as RateSource), asks, late, refused, queued };
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
    // Only a call that uses the limit shows that the limit was exceeded.
    expect(refused).toEqual([rateCost]);
  });

  it('is asked for with the number of answers that the service had queued, each reported once', async () => {
    const { limiter, queued } = at(10_000);
    for (let answers = 0; answers < 3; answers++) limiter.queued(rateCost);
    await limiter.acquire(rateCost);
    await limiter.acquire(rateCost);
    expect(queued).toEqual([3, 0]);
  });
});

describe('a limiter with a reservation', () => {
  afterEach(() => void vi.useRealTimers());

  /** A limiter whose reservation another process holds at the first attempts, by these names. */
  function reserved(...holders: string[]) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const calls: unknown[] = [];
    const inner = {
      acquire: async (wanted: RateCost) => ({ rateCost: wanted, startAt: 0, reservedAt: 0 }),
      block: async (...args: unknown[]) => void calls.push(['block', ...args]),
      view: async () => idleView(flatProfile(7)),
      close: async () => undefined,
    };
    const reservation = {
      take: async () => {
        const heldBy = holders.shift();
        calls.push(heldBy === undefined ? 'take' : 'wait');
        return heldBy === undefined ? { usedByOthers: false } : { heldBy };
      },
      release: async () => void calls.push('release'),
    };
    const limiter = new ReservedLimiter(inner as unknown as MemoryLimiter, reservation, () => undefined);
    return { limiter, calls };
  }

  it('releases it after two seconds without a call, and when it is closed', async () => {
    const { limiter, calls } = reserved();
    await limiter.acquire({ rateClass: 'free', weight: 0 });
    expect(calls).toEqual([]);
    await limiter.acquire(rateCost);
    await vi.advanceTimersByTimeAsync(1999);
    await limiter.acquire(rateCost);
    await vi.advanceTimersByTimeAsync(1999);
    expect(calls).toEqual(['take']);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toEqual(['take', 'release']);
    await limiter.acquire(rateCost);
    await limiter.close();
    expect(calls.slice(2)).toEqual(['take', 'release']);
  });

  it('shows who holds it only while a call waits for it', async () => {
    const { limiter, calls } = reserved('another process');
    const asked = limiter.acquire(rateCost);
    await expect.poll(async () => (await limiter.view()).heldBy).toBe('another process');
    await asked;
    expect(await limiter.view()).not.toHaveProperty('heldBy');
    expect(calls).toEqual(['wait', 'take']);
    await limiter.close();
  });

  it('passes on the refusal of a call', async () => {
    const { limiter, calls } = reserved();
    await limiter.block(1000, 'too many requests', rateCost);
    expect(calls).toEqual([['block', 1000, 'too many requests', rateCost]]);
  });
});
