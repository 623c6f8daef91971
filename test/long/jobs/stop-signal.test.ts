import { expect, it, onTestFinished } from 'vitest';
import { signalNames } from '../../../src/core/rows/job-names.js';
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
