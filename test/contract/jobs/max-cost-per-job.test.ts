import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { workflowNames } from '../../../src/core/rows/job-names.js';
import { startService } from '../../service/service.mjs';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 40_000, interval: 20 };

it.each<[string, Partial<EnrichCsvInput>, string]>([
  ['removes its budget', { maxCostDollars: 'none' }, "of the worker's budget"],
  ['has a lower budget', { maxCostDollars: 0.05 }, "of this run's budget of $0.05"],
])('a worker with maxCostPerJob limits a workflow whose input %s', async (_, changes, said) => {
  const setting = closeAfterTest(await openSetting(temporal, { config: { maxCostPerJobMicros: 100_000 } }));
  const job = await setting.begin(plainRows(200), changes);
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('budget');
  await expect.poll(async () => (await job.progress()).message, soon).toContain(said);
  const most = changes.maxCostDollars === 0.05 ? 50_000 : 100_000;
  expect(setting.sandbox.bill().micros).toBeLessThanOrEqual(most);
  expect(setting.sandbox.bill().micros).toBeGreaterThanOrEqual(0.9 * most);
  await job.handle.cancel();
  await job.result().catch(() => undefined);
});

it('a run that reached maxCostPerJob continues after a raise and a restart of the worker, not after a resume alone', async () => {
  const setting = closeAfterTest(await openSetting(temporal, { config: { maxCostPerJobMicros: 100_000 } }));
  const rows = plainRows(200);
  const job = await setting.begin(rows);
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('budget');
  await job.resume({ maxCostDollars: 'none' });
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBeNull();
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('budget');
  expect(setting.sandbox.bill().micros).toBeLessThanOrEqual(100_000);
  await setting.host().stop();
  closeAfterTest(await startHost(temporal, { ...setting.config, maxCostPerJobMicros: 1_000_000 }));
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { success: 200 } });
  expect(boughtAgain(setting.sandbox)).toEqual({});
});

it('a single agent run gets maxCostPerJob as its budget, or is refused if its fixed price is higher', async () => {
  const service = await startService({ agents: {} });
  const folder = Folder.ofTest();
  const config = folder.config(service.url, { maxCostPerJobMicros: 2_000_000 });
  const host = await startHost(temporal, config);
  closeAfterTest(service, host);
  const run = (request: object, options: object, taskQueue = config.taskQueue) =>
    temporal.client.workflow.execute(workflowNames.runAgent, {
      workflowId: randomUUID(),
      taskQueue,
      args: [request, options],
    });
  await run({ query: 'Who makes this?', effort: 'ultra' }, { maxCostDollars: 15 });
  expect([...service.agents.runs.values()][0]?.request).toMatchObject({ budget: { maxCostDollars: 2 } });
  const poorer = {
    ...config,
    taskQueue: `${config.taskQueue}-2`,
    stateDir: `${config.stateDir}-2`,
    maxCostPerJobMicros: 100_000,
  };
  closeAfterTest(await startHost(temporal, poorer));
  const refused = run({ query: 'Who else?', effort: 'high' }, {}, poorer.taskQueue);
  await expect(refused).rejects.toMatchObject({
    cause: {
      type: 'BudgetExceeded',
      message: expect.stringContaining('for a run of a job (maxCostPerJob) is used up'),
    },
  });
  expect(service.agents.starts).toHaveLength(1);
});
