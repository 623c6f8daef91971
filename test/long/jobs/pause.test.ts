import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { expectWhole, parked, refusal, sentAfter } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting, type Setting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let setting: Setting;
let sandbox: Sandbox;
beforeAll(async () => {
  temporal = await openTemporal();
  setting = await openSetting(temporal, { sandbox: { latencyMs: { min: 20, max: 80 }, credits: 1 } });
  sandbox = setting.sandbox;
});
afterAll(async () => {
  await setting?.close();
  await temporal?.teardown();
});

/** Number of jobs so far: each job gets rows that no other job uses. */
let used = 0;
const freshRows = () => plainRows(200, 1000 * ++used);

it('fault 12: a resume that comes while refused slices are still ending keeps its effect', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { status: 403 })]);
  await expect.poll(async () => (await job.progress()).pausedFor, { timeout: 20_000, interval: 1 }).toBe('key');
  await job.resume();
  await expectWhole(sandbox, job, rows);
});

it('a pause before the plan is made stops the job before its first request', async () => {
  const rows = freshRows();
  await setting.host().stop();
  const job = await setting.begin(rows);
  await job.pause();
  await setting.anotherHost();
  await parked(temporal, job, 'person');
  expect(sandbox.log()).toEqual([]);
  await job.resume();
  await expectWhole(sandbox, job, rows);
});

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

it('a Retry-After above one hour pauses the job instead of waiting, and landed answers stay bought', async () => {
  const rows = freshRows();
  const job = await setting.begin(rows, {}, [refusal(6, { status: 429, retryAfter: '7200' })]);
  expect(await parked(temporal, job, 'rate')).toMatch(/429/);
  expect(sentAfter(sandbox, 6)).toBeLessThanOrEqual(3);
  // With the sandbox a block ends with the worker; with the real service it is kept on disk.
  await setting.anotherHost();
  await job.resume();
  await expectWhole(sandbox, job, rows);
});
