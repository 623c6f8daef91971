import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Runtime } from '../../../dist/worker/runtime/runtime.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import type { JobState } from '../../../src/core/job-entry-schemas.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openTemporal } from '../../support/temporal.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

/** A job of 40 rows that is done. `counted` returns the counts of its rows as a new command reads them. */
async function doneJob() {
  const { folder, run, config } = openJob(here, plainRows(40));
  const { plan, summary } = await run();
  const { job } = plan.staged;
  const ask = async <T>(question: (rows: Runtime['rows']) => Promise<T>) => {
    const runtime = await openRuntime(config);
    try {
      return await question(runtime.rows);
    } finally {
      await runtime.close('now');
    }
  };
  const counted = () => ask(async (rows) => (await rows.summary(job)).warehouse);
  const lastRun = () => ask(async (rows) => (await rows.status(job)).lastRun);
  /** Replaces the recorded state of the job. */
  const record = async (state: JobState) => {
    const entries = new FolderJobs(join(folder.stateDir, 'jobs'));
    const entry = await entries.get(job);
    if (entry) await entries.put({ ...entry, state });
    entries.close();
  };
  return { folder, summary, counted, lastRun, record };
}

const all = { rows: 40, success: 40, missing: 0 };
const none = { rows: 40, success: 0, error: 0, invalid: 0, missing: 40, vanished: 0, tags: {} };

it('the rows of a job that is done are shown without opening its warehouse, while the file exists', async () => {
  const { folder, counted } = await doneJob();
  // This file is not a database, so opening the warehouse would fail.
  writeFileSync(folder.into, 'not a database');
  expect(await counted()).toMatchObject(all);
  rmSync(folder.into);
  expect(await counted()).toEqual(none);
});

it('a job that stopped before its first load has no row loaded, with and without a warehouse of other jobs', async () => {
  const { folder, counted, record } = await doneJob();
  await record({ phase: 'stopped', since: 1 });
  expect(await counted()).toMatchObject(all);
  rmSync(folder.into);
  expect(await counted()).toEqual(none);
  placeEmptyWarehouse(folder.into);
  expect(await counted()).toEqual(none);
});

it('the figures of the last run are known until a run ends without recording any', async () => {
  const { summary, lastRun, record } = await doneJob();
  const { requests = 0, costMicros, estimateMicros, seconds } = summary ?? {};
  expect(requests).toBeGreaterThan(0);
  expect(await lastRun()).toEqual({ requests, costMicros, estimateMicros, seconds });
  await record({ phase: 'done', since: 1 });
  expect(await lastRun()).toBeUndefined();
});
