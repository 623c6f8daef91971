import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fileRates } from '../../../src/store/limiter/file-rates.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { openLimiter } from '../../../src/worker/team/limit.js';

it('fault 49: a block from the file is not extended when the clock goes back by an hour', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-block-'));
  onTestFinished(() => {
    vi.restoreAllMocks();
    rmSync(dir, { recursive: true });
  });
  const store = fileRates(join(dir, 'limit.json'), join(dir, 'block.json'));
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
  const userStateDir = mkdtempSync(join(tmpdir(), 'searchflow-limit-'));
  onTestFinished(() => rmSync(userStateDir, { recursive: true }));
  const config = { userStateDir, origin: 'https://service.example', apiKey: null, rate: { qps }, rateIsShare: false };
  const limiter = openLimiter(config as unknown as RuntimeConfig);
  await limiter.acquire({ rateClass: 'contents', weight: 1 });
  await limiter.close();
  expect(readdirSync(userStateDir)).toEqual(folders);
});
