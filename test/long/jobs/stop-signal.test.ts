import { expect, it, onTestFinished } from 'vitest';
import { signalNames } from '../../../src/core/rows/job-names.js';
import { parked } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 30_000, interval: 10 };

it('fault 63: a job with the signal stop lands requests in flight, ends as stopped, and the same job buys the rest', async () => {
  const setting = await openSetting(temporal, { sandbox: { latencyMs: 60 } });
  onTestFinished(() => setting.close());
  const { sandbox } = setting;
  const rows = plainRows(1500);
  const job = await setting.begin(rows);
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThanOrEqual(6);
  await job.handle.signal(signalNames.stop, 'its command was stopped');
  const stopped = { phase: 'stopped', stoppedFor: 'person', message: 'its command was stopped', csv: null };
  const first = await job.result();
  expect(first).toMatchObject({ ...stopped, unknownOutcomes: 0 });
  const { length } = sandbox.log();
  expect(first.requests).toBe(length);
  expect(length).toBeLessThan(150);
  expect(await (await job.again()).result()).toMatchObject({ phase: 'done', requests: 150 - length });
  expect(boughtAgain(sandbox)).toEqual({});
  await setting.host().stop();
  expect((await job.folder.warehouseRows()).map((row) => row.input)).toEqual(rows);
  expect(await job.folder.query('SELECT phase, reason FROM searchflow_runs ORDER BY started_at')).toEqual([
    { phase: 'stopped', reason: 'person' },
    { phase: 'done', reason: null },
  ]);
});

it('a paused job counts the rows that are loaded, failed ones too, and so does it once stopped, and its next run', async () => {
  // The credits pay for five requests, and a slice has two requests.
  const setting = await openSetting(temporal, { sandbox: { latencyMs: 60, credits: 0.05 } });
  onTestFinished(() => setting.close());
  const job = await setting.begin(plainRows(300));
  await parked(temporal, job, 'credits');
  await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
  const paused = await job.progress();
  await job.handle.signal(signalNames.stop);
  const { warehouse } = await job.result();
  const counts = { rowsDone: 300 - warehouse.missing, failed: warehouse.error };
  expect(counts.rowsDone % 20).toBe(10);
  expect(paused).toMatchObject(counts);
  expect(await job.progress()).toMatchObject(counts);
  const next = await job.again();
  await parked(temporal, next, 'credits');
  expect(await next.progress()).toMatchObject(counts);
});
