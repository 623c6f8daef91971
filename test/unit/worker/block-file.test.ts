import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { type BlockMemory, MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { ReservedLimiter } from '../../../src/store/limiter/reserved-limiter.js';
import { blockFile, LimitReservation, type TakeElsewhere } from '../../../src/worker/team/limit-owner.js';

it('fault 49: a block from the file is not extended when the clock goes back by an hour', async () => {
  const userStateDir = mkdtempSync(join(tmpdir(), 'searchflow-block-'));
  onTestFinished(() => {
    vi.restoreAllMocks();
    rmSync(userStateDir, { recursive: true });
  });
  const open = () => blockFile({ userStateDir, origin: 'https://service.example', apiKey: new Secret('key') });
  const begun = Date.now();
  let now = begun;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  await open().save(begun + 5000, 'too many requests');
  now = begun + 2000;
  expect(open().load()).toEqual({ until: begun + 5000, at: begun, reason: 'too many requests' });
  now = begun - 3_600_000;
  expect(open().load()).toEqual({ until: now + 5000, at: begun, reason: 'too many requests' });
});

it.each([
  [true, 'too many requests'],
  [false, null],
])(
  'a block that another process saved is loaded with the reservation if that process used the limit: %s',
  async (usedByOthers, blockReason) => {
    let kept: ReturnType<BlockMemory['load']> = null;
    const memory = new MemoryLimiter(flatProfile(10), { load: () => kept, save: () => undefined });
    const reservation = { take: async () => ({ usedByOthers }), release: async () => undefined };
    const limiter = new ReservedLimiter(memory, reservation, () => undefined);
    onTestFinished(() => limiter.close());
    kept = { until: Date.now() + 60_000, at: Date.now(), reason: 'too many requests' };
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

describe('the reservation of a limit', () => {
  /** Two folders that reserve the limit of one key. */
  function folders() {
    const userStateDir = mkdtempSync(join(tmpdir(), 'searchflow-reservation-'));
    const whose = { userStateDir, origin: 'https://service.example', apiKey: new Secret('key') };
    const [here, there] = [new LimitReservation(whose), new LimitReservation(whose)];
    onTestFinished(async () => {
      vi.restoreAllMocks();
      await here.release();
      await there.release();
      rmSync(userStateDir, { recursive: true });
    });
    const dir = join(userStateDir, 'limits');
    const used = (by: string) => {
      for (const file of readdirSync(dir)) if (file.endsWith('.last.json')) writeFileSync(join(dir, file), by);
    };
    return { here, there, used };
  }
  const heldBy = expect.stringContaining(`PID ${process.pid}`);

  it('is held by one folder at a time, and reports whether another process used the limit before', async () => {
    const { here, there, used } = folders();
    expect(await here.take()).toEqual({ usedByOthers: false });
    expect(await there.take()).toEqual({ heldBy });
    await here.release();
    expect(await there.take()).toEqual({ usedByOthers: false });
    await there.release();
    used('another process');
    expect(await here.take()).toEqual({ usedByOthers: true });
    await here.release();
    expect(await here.take()).toEqual({ usedByOthers: false });
  });

  it('counts as used by a process that was killed or has just released it, also if the clock went back', async () => {
    const { here, used } = folders();
    await here.take();
    await here.release();
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now);
    for (const [last, usedByOthers] of [
      ['killed', true],
      [`other\n${now - 1500}`, true],
      [`other\n${now - 1501}`, false],
      [`other\n${now + 3_600_000}`, true],
      ['other\nno time', true],
    ] as const) {
      used(last);
      expect([last, await here.take()]).toEqual([last, { usedByOthers }]);
      await here.release();
    }
  });

  it('is left to a worker on another machine, which is asked again after two seconds', async () => {
    const { here, there } = folders();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1000);
    const answers: Awaited<ReturnType<TakeElsewhere>>[] = [{ heldBy: 'the other machine' }, async () => undefined];
    await here.alsoTake(async () => answers.shift() ?? { heldBy: 'asked too often' });
    expect(await here.take()).toEqual({ heldBy: 'the other machine' });
    expect(await there.take()).toHaveProperty('usedByOthers');
    await there.release();
    clock.mockReturnValue(2999);
    expect(await here.take()).toEqual({ heldBy: 'the other machine' });
    clock.mockReturnValue(3000);
    expect(await here.take()).toEqual({ usedByOthers: true });
  });

  it('among machines starts with a full ring each time, and ends there before it ends here', async () => {
    const { here, there } = folders();
    const ends: unknown[] = [];
    await here.alsoTake(async () => async () => void ends.push(await there.take()));
    for (let turn = 0; turn < 2; turn++) {
      expect(await here.take()).toEqual({ usedByOthers: true });
      await here.release();
    }
    expect(ends).toEqual([{ heldBy }, { heldBy }]);
    expect(await here.take()).toEqual({ usedByOthers: true });
    await here.alsoTake(null);
    expect(ends).toHaveLength(3);
    expect(await there.take()).toEqual({ usedByOthers: false });
  });

  it('is free again if the other machines cannot be asked', async () => {
    const { here, there } = folders();
    await here.alsoTake(() => Promise.reject(new Error('no answer')));
    await expect(here.take()).rejects.toThrow('no answer');
    // A process that another test starts at this moment holds the lock for some milliseconds, too.
    await expect.poll(() => there.take()).toHaveProperty('usedByOthers');
  });
});
