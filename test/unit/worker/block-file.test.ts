import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
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
