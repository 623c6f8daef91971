import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { makeFolder } from '../../../src/files/make-folder.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { textBytes: 5000, failureRate: 0 });

async function clean(config: RuntimeConfig, changes: { job?: string; olderThanMs?: number; dryRun?: boolean } = {}) {
  const runtime = await openRuntime(config);
  try {
    return await runtime.clean({ job: null, olderThanMs: 0, dryRun: false, ...changes });
  } finally {
    await runtime.close('drain');
  }
}

it('the state of a done job that nothing needs is removed, and its next run buys nothing', async () => {
  const { folder, run, config: usual, bought } = openJob(here, plainRows(40));
  const config = { ...usual, keepLandingMs: 0 };
  const { plan } = await run();
  const { job, stageDir } = plan.staged;
  const long = new Date(Date.now() - 2 * 86_400_000);
  const stray = join(folder.stateDir, 'stages', job, 'draft-1.scratch');
  makeFolder(stray);
  // A command that was refused after its plan has started no job.
  const refused = join(folder.stateDir, 'stages', 'refused-123456', 'a1b2c3');
  makeFolder(refused);
  writeFileSync(join(refused, '000000.jsonl.gz'), 'x'.repeat(500));
  writeFileSync(join(folder.stateDir, 'scratch', 'lost.jsonl'), 'x'.repeat(1000));
  // Nothing that was used lately is removed, and no job that has ended lately.
  expect((await clean(config, { olderThanMs: 3_600_000 })).items).toEqual([]);
  await expect(clean(config, { job: 'rows', olderThanMs: 3_600_000 })).rejects.toThrow(
    /searchflow clean rows-\w+ --older/,
  );
  const lately = await clean(config, { dryRun: true });
  expect(lately.notes).toEqual([
    expect.stringMatching(/^Staged rows of rows-\w+ stay \(\d kB\): they were staged in the last hour/),
  ]);
  expect(existsSync(stageDir)).toBe(true);
  for (const path of [stageDir, stray, refused, join(folder.stateDir, 'scratch', 'lost.jsonl')])
    utimesSync(path, long, long);

  const wanted = await clean(config, { dryRun: true });
  expect(wanted.items).toEqual([
    { what: 'stages', job, bytes: expect.any(Number) },
    { what: 'answers', job, bytes: expect.any(Number) },
    { what: 'drafts', job: null, bytes: 1500 },
  ]);
  expect(wanted.items.find(({ what }) => what === 'answers')?.bytes).toBeGreaterThan(40 * 5000);
  expect(existsSync(stageDir)).toBe(true);
  const done = await clean(config);
  expect(done.items).toEqual(wanted.items);
  expect(done.before - done.after).toBeGreaterThan(40 * 5000);
  expect([stageDir, stray, refused].filter((path) => existsSync(path))).toEqual([]);
  expect((await clean(config)).items).toEqual([]);

  folder.write(plainRows(41));
  expect(await run()).toMatchObject({
    plan: { toBuy: 1, alreadyBought: 40 },
    summary: { phase: 'done', requests: 1, warehouse: { rows: 41, success: 41 } },
  });
  expect(bought()).toBe(41);
});

it('a paused job is left alone', async () => {
  const { folder, config } = openJob(here, plainRows(40));
  const runtime = await openRuntime({ ...config, keepLandingMs: 0 });
  try {
    const plan = await (await runtime.work()).plan({
      input: folder.input,
      urlColumn: null,
      delimiter: null,
      job: null,
      into: folder.into,
      csv: null,
      options: {},
      ...{ batch: 10, retryFailed: false, rebuy: false, maxCostDollars: 0.02 },
    });
    const handle = await (await runtime.work()).start(plan);
    const phase = async () => (await handle.progress()).progress.phase;
    await expect.poll(phase, { timeout: 30_000 }).toBe('paused');
    utimesSync(plan.staged.stageDir, new Date(0), new Date(0));
    const wish = { olderThanMs: 0, dryRun: false };
    expect((await runtime.clean({ ...wish, job: null })).items).toEqual([]);
    await expect(runtime.clean({ ...wish, job: handle.job })).rejects.toThrow(
      /is paused\. Only the state of done jobs/,
    );
    expect(existsSync(plan.staged.stageDir)).toBe(true);
    await handle.cancel();
    await handle.result().catch(() => undefined);
  } finally {
    await runtime.close('drain');
  }
});
