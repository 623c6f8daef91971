import { expect, it, onTestFinished } from 'vitest';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const rows = plainRows(300);
const soon = { timeout: 20_000, interval: 10 };

it('fault 25: a worker that is drained lets paid requests land, and the next one continues at once', async () => {
  const setting = await openSetting(temporal, { sandbox: { latencyMs: 60 } });
  onTestFinished(() => setting.close());
  const { sandbox } = setting;
  const job = await setting.begin(rows);
  for (const sent of [6, 16]) {
    await expect.poll(() => sandbox.log().length, soon).toBeGreaterThanOrEqual(sent);
    await setting.host().stop();
    const { length } = sandbox.log();
    expect(sandbox.stats().byStatus).toEqual({ 200: length });
    const startedAt = Date.now();
    await setting.anotherHost();
    const totals = await job.totals(setting.host());
    // The next worker may have requests in flight. The result of the job shows that none of the drained worker's stayed open.
    expect(totals.unknown).toEqual([]);
    expect(totals.requests).toBeGreaterThanOrEqual(length);
    await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(length);
    expect(Date.now() - startedAt).toBeLessThan(8000);
  }
  expect(await job.result()).toMatchObject({ phase: 'done', unknownOutcomes: 0, requests: 30, costMicros: 300_000 });
  await setting.host().stop();
  expect(boughtAgain(sandbox)).toEqual({});
  expect((await job.folder.warehouseRows()).map((row) => row.input)).toEqual(rows);
});
