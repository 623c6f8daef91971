import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parked } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';

const { temporal, setting, sandbox } = settingOfFile({ sandbox: { latencyMs: { min: 20, max: 80 }, credits: 1 } });

it('a pause and a cancel interrupt the staging of a large file, and a resume stages it from the start and buys its rows once', async () => {
  const stages = join(setting.config.stateDir, 'stages');
  const drafts = () =>
    existsSync(stages)
      ? readdirSync(stages, { recursive: true, encoding: 'utf8' }).filter((name) => /draft-[^/]+$/.test(name))
      : [];
  const fast = { timeout: 20_000, interval: 1 };
  const begin = async () => {
    const job = await setting.begin(plainRows(100_000, 1_000_000), { limit: 100 });
    await expect.poll(drafts, fast).not.toEqual([]);
    return job;
  };
  const paused = await begin();
  await paused.pause();
  await parked(temporal, paused, 'person');
  await expect.poll(drafts, fast).toEqual([]);
  expect((await paused.progress()).rows).toBe(0);
  const cancelled = await begin();
  await cancelled.handle.cancel();
  await expect(cancelled.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  await expect.poll(drafts, fast).toEqual([]);
  expect(sandbox.log()).toEqual([]);
  await paused.resume();
  const { phase, requests } = await paused.result();
  expect([phase, requests, sandbox.log().length, boughtAgain(sandbox)]).toEqual(['done', 10, 10, {}]);
}, 120_000);
