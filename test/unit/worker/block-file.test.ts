import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { UsageError } from '../../../src/core/errors/coded-error.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { fileRates } from '../../../src/store/limiter/file-rates.js';
import { UNUSED_MS } from '../../../src/store/limiter/memory-limiter.js';
import { QueuedLimiter } from '../../../src/store/limiter/queued-limiter.js';
import { type RateStore, SharedRates } from '../../../src/store/limiter/shared-rates.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { openLimiter } from '../../../src/worker/store/open-store.js';
import { folderOfTest } from '../../support/files/folders.js';

const second = 1000;
function limitFolder() {
  const dir = folderOfTest();
  onTestFinished(() => void vi.restoreAllMocks());
  return { dir, open: () => fileRates(join(dir, 'limit.json'), join(dir, 'block.json')) };
}

it('a shorter block never ends a longer one, also of another process at the same moment', async () => {
  const { open } = limitFolder();
  const stores = [open(), open(), open(), open()];
  const { now } = await stores[0]!.look();
  for (let round = 1; round <= 10; round++) {
    const longest = now + round * 60 * second;
    await Promise.all(stores.map((store, nth) => store.hold(nth === 1 ? longest : now + second, 'refused')));
    expect(((await open().look()).block?.until ?? 0) - longest).toBeCloseTo(0, -2);
  }
});

it('a block that was written while the clock was ahead ends in its time', async () => {
  const { open } = limitFolder();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 24 * 3600 * second);
  const { now } = await open().look();
  await open().hold(now + 5 * second, 'refused');
  clock.mockRestore();
  expect(Math.round(((await open().look()).block?.until ?? 0) - now)).toBe(5 * second);
  const later = process.hrtime.bigint() + 6_000_000_000n;
  vi.spyOn(process.hrtime, 'bigint').mockReturnValue(later);
  expect((await open().look()).block).toBeNull();
});

it('a block counts in its process although the store cannot keep it', async () => {
  const state = () => ({ now: performance.now(), askedAt: performance.now(), answeredAt: performance.now() });
  const look = async () => ({ ...state(), buckets: {}, unusedMs: UNUSED_MS, block: null });
  const store: RateStore = {
    look,
    change: async (work) => {
      const known = await look();
      return { result: work(known), state: known };
    },
    hold: async () => Promise.reject(new Error('disk full')),
    lift: async () => undefined,
    close: async () => undefined,
  };
  const limiter = new QueuedLimiter(new SharedRates(flatProfile(10), store, 'key'));
  const one = { rateClass: 'contents', weight: 1 } as const;
  const grant = await limiter.acquire(one);
  await expect(limiter.block(300, 'refused')).rejects.toThrow('disk full');
  const until = performance.now() + 290;
  expect(await limiter.start(grant)).toBe('blocked');
  expect((await limiter.acquire(one)).startAt).toBeGreaterThan(until);
});

it('a file that cannot be used is refused with one sentence, at the start and later', async () => {
  const { dir, open } = limitFolder();
  const store = open();
  await store.change(() => undefined);
  rmSync(dir, { recursive: true });
  expect((await store.look()).unusedMs).toBe(0);
  rmSync(join(dir, 'limit.json'));
  mkdirSync(join(dir, 'limit.json'));
  const sentence = /^The state of the rate limit cannot be used: EISDIR: .*limit\.json'\.$/;
  expect(open).toThrow(sentence);
  await expect(store.look()).rejects.toThrow(sentence);
  await expect(store.look()).rejects.toBeInstanceOf(UsageError);
});

it.each([
  '[]',
  '{}',
  '5',
  'null',
  '{"all":{"ring":[1,2],"turns":[]}}',
  '{"all":{"ring":[1],"turns":[],"margin":1e6,"guard":0,"guardAt":0,"backpressure":0,"backpressureAt":0}}',
])('a damaged text counts as a second in which the limit was used: %s', async (text) => {
  const { dir, open } = limitFolder();
  writeFileSync(join(dir, 'limit.json'), text);
  expect(await open().look()).toMatchObject({ buckets: {}, unusedMs: 0 });
});

it('fault 49: a block from the file is not extended when the clock goes back by an hour', async () => {
  const store = limitFolder().open();
  const begun = Date.now();
  let now = begun;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  await store.hold((await store.look()).now + 5000, 'too many requests');
  const left = async () => {
    const { block, now: at } = await store.look();
    return block && [Math.round((block.until - at) / 100) / 10, block.reason];
  };
  now = begun + 2000;
  expect(await left()).toEqual([3, 'too many requests']);
  now = begun - 3_600_000;
  expect(await left()).toEqual([5, 'too many requests']);
  now = begun + 5001;
  expect(await left()).toBeNull();
});

it.each([
  [1000, ['limits']],
  [1001, []],
])('a limit of %s requests a second is kept in these folders: %j', async (qps, folders) => {
  const userStateDir = folderOfTest();
  const config = { userStateDir, origin: 'https://service.example', apiKey: null, rate: { qps }, rateIsShare: false };
  const limiter = openLimiter(config as unknown as RuntimeConfig);
  await limiter.acquire({ rateClass: 'contents', weight: 1 });
  await limiter.close();
  expect(readdirSync(userStateDir)).toEqual(folders);
});
