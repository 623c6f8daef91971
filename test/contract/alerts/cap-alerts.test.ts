import { expect, it } from 'vitest';
import { alertsOfFile } from '../../support/alerts/file-receiver.js';
import { alertProblems } from '../../support/alerts/schema.js';
import { parked, soon } from '../../support/jobs/checks.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const receiver = alertsOfFile({ on: ['cap.80', 'cap.100'] });
const file = settingOfFile({ sandbox: { credits: 100 }, config: { alerts: receiver.settings } });

const capsOf = (scope: string) => receiver.alerts().filter(({ data }) => data.scope === scope);

it('a run reports the parts of its cap that are used, each once, and another cap again', async () => {
  const job = await file.setting.begin(file.freshRows(100), { maxCostDollars: 0.05 });
  await parked(file.setting.temporal, job, 'budget');
  await expect.poll(() => capsOf('run').at(-1)?.type, soon).toBe('cap.100');
  const { job: name } = await job.progress();
  const [last] = capsOf('run').slice(-1);
  expect(last).toMatchObject({ data: { job: name, percent: 100, capDollars: 0.05, usedDollars: 0.05 } });
  await job.resume({ maxCostDollars: 0.12 });
  await job.result();
  // All 100 rows cost five sixths of the new cap.
  await expect.poll(() => capsOf('run').at(-1), soon).toMatchObject({ type: 'cap.80', data: { capDollars: 0.12 } });
  const types = capsOf('run').map(({ type, data }) => `${type} ${data.capDollars}`);
  expect(new Set(types).size).toBe(types.length);
});

it('a cap of which less than 80% is used is not reported, and a job without a cap reports none', async () => {
  const before = receiver.alerts().length;
  await (await file.setting.begin(file.freshRows(10), { maxCostDollars: 1 })).result();
  await (await file.setting.begin(file.freshRows(10))).result();
  await file.setting.host().parts.sendAlerts();
  expect(receiver.alerts().length).toBe(before);
});

it("the team's caps of a day and a month are reported with the part that is used", async () => {
  const { journal } = file.setting.host().parts.deps as never as {
    journal: { spent(): Promise<{ day: { landedMicros: number } }>; setCaps(caps: object): Promise<void> };
  };
  const { day } = await journal.spent();
  await journal.setCaps({ dayMicros: day.landedMicros + 50_000, monthMicros: 4 * day.landedMicros });
  const job = await file.setting.begin(file.freshRows(100));
  await parked(file.setting.temporal, job, 'budget');
  await expect.poll(() => capsOf('day').at(-1)?.type, soon).toBe('cap.100');
  expect(capsOf('day').at(-1)?.text).toMatch(/^The team's cap of \$0\.\d+ for this UTC day is used up/);
  await journal.setCaps({ dayMicros: null, monthMicros: null });
  await job.resume();
  await job.result();
  expect(receiver.alerts().flatMap(alertProblems)).toEqual([]);
});
