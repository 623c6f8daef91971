import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { enrich, openJob, requestOf, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { filesWith, forget, usageOf } from '../../support/jobs/forgetting.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { textBytes: 3000, failureRate: 0 });

it('the data of a row is in no file afterwards, the bill is the same, and nothing is bought again', async () => {
  const { folder, run, config, bought } = openJob(here, plainRows(60));
  await run();
  const text = (await folder.warehouseRows()).find((row) => row.row_number === 8)?.text ?? '';
  expect(text.length).toBeGreaterThan(1000);
  const texts = ['site-7.example', 'Company 7"', 'Company 7,', text.slice(100, 160)];
  expect(filesWith(folder.dir, texts)).not.toEqual([]);
  const before = await usageOf(config);

  const { plan, done } = await forget(config, { url: 'https://site-7.example/about' });
  expect(plan).toMatchObject({ units: 1, rows: 1, stagedRows: 1, bodies: 1, notes: [] });
  expect(done).toMatchObject({ csvs: [folder.csv], notes: [] });
  expect(filesWith(folder.dir, texts)).toEqual([]);
  expect(await usageOf(config)).toEqual(before);
  const rows = await folder.warehouseRows();
  expect(rows.filter(({ error_tag: tag }) => tag === 'FORGOTTEN')).toEqual([
    expect.objectContaining({ row_number: 8, url: null, status: 'error', input: [null, null, null], text: null }),
  ]);
  expect((await forget(config, { url: 'https://site-7.example/about' })).isEmpty).toBe(true);

  // The row comes back with its input, under every rule of freshness, and in another job of the same units.
  await run({ rebuy: true, retryFailed: true });
  folder.write(plainRows(61));
  const { summary } = await run();
  expect(summary?.warehouse).toMatchObject({ rows: 61, success: 60, error: 1, discarded: 1, tags: {} });
  expect(await run({ job: 'other' })).toMatchObject({ plan: { toBuy: 0 }, summary: { phase: 'done' } });
  await run({ refreshAfterMs: 0 });
  expect(bought()).toBe(61);
  const { keys } = here.sandbox.bill();
  expect(keys['contents https://site-7.example/about']).toBe(1);
  expect(keys['contents https://site-6.example/about']).toBeGreaterThan(1);
  expect(filesWith(folder.dir, texts)).toEqual([]);
});

it('a URL is removed from all jobs, and a whole job with its bad rows', async () => {
  const { folder, run, config } = openJob(here, [...plainRows(30), ['31', 'Secret Person', 'no url at all']]);
  await run();
  await run({ job: 'other' });
  const texts = ['site-7.example'];
  // A command that was refused after its plan has left staged rows of a job that never started.
  const stages = join(config.stateDir, 'stages');
  cpSync(join(stages, readdirSync(stages)[0] as string), join(stages, 'refused-123456'), { recursive: true });
  const { plan } = await forget(config, { url: 'https://site-7.example/about' });
  expect([...plan.jobs].sort()).toEqual([
    expect.stringMatching(/^other-/),
    'refused-123456',
    expect.stringMatching(/^rows-/),
  ]);
  expect(plan).toMatchObject({ units: 1, rows: 2, stagedRows: 3, bodies: 1 });
  expect(filesWith(folder.dir, texts)).toEqual([]);
  expect((await forget(config, { url: 'https://site-70.example/about' })).isEmpty).toBe(true);

  rmSync(join(stages, 'refused-123456'), { recursive: true });
  const before = await usageOf(config);
  for (const job of ['rows', 'other']) await forget(config, { job });
  expect(filesWith(folder.dir, ['site-', 'Secret Person', 'no url at all'])).toEqual([]);
  expect(await usageOf(config)).toEqual(before);
  await enrich(folder, config);
  expect(filesWith(folder.dir, ['site-', 'Secret Person', 'no url at all'])).toEqual([]);
});

it('a paused job and an unknown job are refused, and change nothing', async () => {
  const { folder, run, config } = openJob(here, plainRows(40));
  await run();
  await expect(forget(config, { job: 'nothing' })).rejects.toThrow('There is no job nothing');
  const runtime = await openRuntime(config);
  try {
    const bounded = { options: { text: true }, refreshAfterMs: 0, maxCostDollars: 0.01 };
    const work = await runtime.work();
    const plan = await work.plan(requestOf(folder, { ...bounded, job: 'more', csv: null, batch: 10 }));
    const handle = await work.start(plan);
    await expect.poll(async () => (await handle.progress()).progress.phase, { timeout: 30_000 }).toBe('paused');
    await expect(runtime.planForget({ job: 'more' })).rejects.toThrow(/is paused.*searchflow cancel/s);
    await handle.cancel();
    await handle.result().catch(() => undefined);
  } finally {
    await runtime.close('drain');
  }
});
