import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fileRates } from '../../../src/store/limiter/file-rates.js';

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
