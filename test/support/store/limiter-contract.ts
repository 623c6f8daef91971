import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { Limiter, RateCost } from '../../../src/core/limiter/limiter.js';

const one: RateCost = { rateClass: 'contents', weight: 1 };

/** Waits for a turn and then for its time, as a purchase does; returns the time of the start. */
export async function pass(limiter: Limiter, rateCost: RateCost = one, signal?: AbortSignal): Promise<number> {
  for (;;) {
    const grant = await limiter.acquire(rateCost, signal);
    if ((await limiter.start(grant, signal)) === 'go') return performance.now();
  }
}

/** The largest number of units in any 980 ms. These are 20 ms less than a second, because a busy machine may record a start late. */
export function mostInASecond(starts: readonly { at: number; weight: number }[]): number {
  return Math.max(
    ...starts.map(({ at }) =>
      starts.filter((other) => other.at >= at && other.at < at + 980).reduce((sum, other) => sum + other.weight, 0),
    ),
  );
}

/** The contract that every limiter must meet. `open` makes an unused limiter of 20 units a second. */
export function limiterContract(name: string, open: () => Promise<Limiter>): void {
  // Each test has a limiter of its own and mostly waits, so the tests run in parallel.
  describe.concurrent(`${name} as a limiter`, () => {
    it('never exceeds the limit, with calls of different weight', async () => {
      const limiter = await open();
      const weights = Array.from({ length: 36 }, (_, index) => (index % 5 === 4 ? 2 : 1));
      const starts = await Promise.all(
        weights.map(async (weight) => ({ at: await pass(limiter, { ...one, weight }), weight })),
      );
      expect(mostInASecond(starts)).toBeLessThanOrEqual(20);
      expect(starts).toHaveLength(36);
      await limiter.close();
    });

    it('starts nothing while blocked, not even granted calls or calls without weight', async () => {
      const limiter = await open();
      await pass(limiter);
      const granted = await limiter.acquire(one);
      const until = performance.now() + 400;
      await limiter.block(400, 'Retry-After');
      expect(await limiter.start(granted)).toBe('blocked');
      expect((await limiter.view()).blockReason).toBe('Retry-After');
      const starts = await Promise.all([pass(limiter), pass(limiter), pass(limiter, { ...one, weight: 0 })]);
      for (const at of starts) expect(at).toBeGreaterThanOrEqual(until - 5);
      expect((await limiter.view()).blockedUntil).toBeNull();
      await limiter.close();
    });

    it('sends waiting calls within seconds after a block was lifted, and keeps a later block', async () => {
      const limiter = await open();
      await limiter.block(3_600_000, 'an hour');
      const { blockedSince } = await limiter.view();
      expect(Math.abs((blockedSince ?? 0) - Date.now())).toBeLessThan(5000);
      const waiting = [pass(limiter), pass(limiter, { rateClass: 'contents', weight: 0 })];
      await limiter.unblock();
      await Promise.all(waiting);
      expect(await limiter.view()).toMatchObject({ blockedUntil: null, blockedSince: null, blockReason: null });
      await limiter.block(60_000, 'a minute');
      expect(await limiter.view()).toMatchObject({ blockReason: 'a minute' });
      await limiter.close();
    });

    it('keeps the longer of two blocks', async () => {
      const limiter = await open();
      await limiter.block(60_000, 'long');
      await limiter.block(10, 'short');
      const { blockedUntil, blockReason } = await limiter.view();
      expect(blockReason).toBe('long');
      expect(blockedUntil).toBeGreaterThan(Date.now() + 50_000);
      await limiter.close();
    });

    it('removes a cancelled waiter, and serves the next', async () => {
      const limiter = await open();
      await limiter.block(300, 'a moment');
      const stop = new AbortController();
      const first = pass(limiter, one, stop.signal);
      const second = pass(limiter);
      stop.abort(new Error('stopped'));
      await expect(first).rejects.toThrow();
      await second;
      expect((await limiter.view()).waiting).toBe(0);
      await limiter.close();
    });

    it('keeps a wider margin after a call was refused while the whole limit was used', async ({ expect }) => {
      const limiter = await open();
      await Promise.all(Array.from({ length: 20 }, () => pass(limiter)));
      const { effectiveQps } = await limiter.view();
      await limiter.block(1, '429', { ...one, weight: 0 });
      expect((await limiter.view()).effectiveQps).toBe(effectiveQps);
      await limiter.block(1, '429', one);
      await expect.poll(async () => (await limiter.view()).effectiveQps).toBeLessThan(effectiveQps - 0.1);
      await limiter.close();
    });

    it('grants turns in the order of the requests', async () => {
      const limiter = await open();
      const order: number[] = [];
      // The test compares the order of the turns, not of the starts: a busy machine may wake two starts in either order.
      await Promise.all([0, 1, 2, 3, 4].map((number) => limiter.acquire(one).then(() => order.push(number))));
      expect(order).toEqual([0, 1, 2, 3, 4]);
      await limiter.close();
    });
  });
}
