import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { ReservedLimiter } from '../../../src/store/limiter/reserved-limiter.js';
import { blockFile } from '../../../src/worker/team/limit-owner.js';

it('fault 49: a block from the file is not extended when the clock goes back by an hour', async () => {
  const userStateDir = mkdtempSync(join(tmpdir(), 'searchflow-block-'));
  onTestFinished(() => {
    vi.restoreAllMocks();
    rmSync(userStateDir, { recursive: true });
  });
  const open = () =>
    blockFile({ userStateDir, origin: 'https://service.example', apiKey: new Secret('key'), rateIsShare: false });
  const begun = Date.now();
  let now = begun;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  await open().save(begun + 5000, 'too many requests');
  now = begun + 2000;
  expect(open().load()).toEqual({ until: begun + 5000, reason: 'too many requests' });
  now = begun - 3_600_000;
  expect(open().load()).toEqual({ until: now + 5000, reason: 'too many requests' });
});

it.each([
  [true, 'too many requests'],
  [false, null],
])(
  'a block that another process saved is loaded with the reservation if that process used the limit: %s',
  async (usedByOthers, blockReason) => {
    let kept: { readonly until: number; readonly reason: string } | null = null;
    const memory = new MemoryLimiter(flatProfile(10), { load: () => kept, save: () => undefined });
    const reservation = { take: async () => ({ usedByOthers }), release: async () => undefined };
    const limiter = new ReservedLimiter(memory, reservation, () => undefined);
    onTestFinished(() => limiter.close());
    kept = { until: Date.now() + 60_000, reason: 'too many requests' };
    const stop = new AbortController();
    const asked = limiter.acquire({ rateClass: 'contents', weight: 1 }, stop.signal);
    await expect.poll(async () => (await limiter.view()).waiting).toBe(1);
    expect(await limiter.view()).toMatchObject({
      blockReason,
      blockedUntil: usedByOthers ? expect.any(Number) : null,
    });
    stop.abort(new Error('given up'));
    await expect(asked).rejects.toThrow('given up');
  },
);
