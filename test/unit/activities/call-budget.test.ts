import { expect, it, onTestFinished } from 'vitest';
import type { CallOptions } from '../../../src/activities/types.js';
import type { OperationName } from '../../../src/api/operations.js';
import { ActivitySetting, runActivity } from '../../support/activities/activity-setting.js';
import { examples } from '../../support/api/examples.js';
import { json, rawServer } from '../../support/api/raw-server.js';
import { ofFile } from '../../support/of-file.js';

const setting = ofFile(() => ActivitySetting.open());
let used = 0;
/** A service that answers every search for $0.007 and counts the requests. */
async function service() {
  let sent = 0;
  const server = await rawServer((_request, socket) => {
    sent++;
    socket.write(json(200, { requestId: 'r', results: [], costDollars: { total: 0.007 } }));
  });
  onTestFinished(() => server.close());
  const deps = setting.worker({ baseUrl: server.url }, `budget ${used++}`);
  const run = (name: OperationName, call?: CallOptions) => runActivity(deps, name, examples[name].input, call);
  return { run, sent: () => sent };
}

it('a call whose price exceeds its maximum cost is not sent, and a cheaper one is', async () => {
  const { run, sent } = await service();
  await expect(run('search', { maxCostDollars: 0.006 })).rejects.toMatchObject({
    type: 'BudgetExceeded',
    nonRetryable: true,
    details: [{ scope: 'call', capMicros: 6000 }],
  });
  expect(sent()).toBe(0);
  expect(await run('search', { maxCostDollars: 1 })).toMatchObject({ costDollars: 0.007 });
  // A landed answer costs nothing.
  expect(await run('search', { maxCostDollars: 0 })).toMatchObject({ requests: [{ bought: false }] });
  expect(sent()).toBe(1);
});

it('an invalid maximum cost of a call is refused before anything is sent', async () => {
  const { run, sent } = await service();
  for (const bound of [Number.NaN, -1, null as unknown as number]) {
    await expect(run('search', { maxCostDollars: bound })).rejects.toMatchObject({ type: 'InvalidRequest' });
  }
  expect(sent()).toBe(0);
});

it('a call respects the team’s budget, and reports when the budget starts again', async () => {
  const { run, sent } = await service();
  const { day } = await setting.journal.spent();
  await setting.journal.setCaps({ dayMicros: day.landedMicros + 5000, monthMicros: null });
  onTestFinished(async () => void (await setting.journal.setCaps({ dayMicros: null, monthMicros: null })));
  await expect(run('search')).rejects.toMatchObject({
    type: 'BudgetExceeded',
    nonRetryable: true,
    message: expect.stringMatching(/the team's budget of \$[\d.]+ a day is used up until 2\d{3}-/),
    details: [{ scope: 'day', resetsAt: expect.any(Number) }],
  });
  expect(sent()).toBe(0);
});

it('a start of a run counts at its maximum cost, because its answer does not contain the cost yet', async () => {
  const { answer } = examples.createAgentRun;
  const server = await rawServer((_request, socket) => socket.write(json(200, answer)));
  onTestFinished(() => server.close());
  const deps = setting.worker({ baseUrl: server.url }, `budget ${used++}`);
  const before = (await setting.journal.spent()).day.landedMicros;
  await runActivity(deps, 'createAgentRun', { query: 'q', effort: 'auto' });
  expect((await setting.journal.spent()).day.landedMicros - before).toBe(5_000_000);
  await runActivity(deps, 'createAgentRun', { query: 'q', effort: 'low' });
  expect((await setting.journal.spent()).day.landedMicros - before).toBe(5_025_000);
});
