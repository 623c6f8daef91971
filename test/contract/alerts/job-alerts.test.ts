import { expect, it } from 'vitest';
import type { Alert } from '../../../src/core/alerts/alert.js';
import { alertsOfFile } from '../../support/alerts/file-receiver.js';
import { alertProblems } from '../../support/alerts/schema.js';
import { parked, refusal, soon } from '../../support/jobs/checks.js';
import { plainRows } from '../../support/jobs/folder.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const receiver = alertsOfFile();
const file = settingOfFile({ sandbox: { credits: 10 }, config: { alerts: receiver.settings } });

/** The alerts of a job so far, as the receiver got them. */
const alertsOf = (job: string): readonly Alert[] => receiver.alerts().filter(({ data }) => data.job === job);
const typesOf = (job: string) => alertsOf(job).map(({ type }) => type);

it('a job that pauses and is done sends an alert for each, once, without rows, keys and messages of the service', async () => {
  const job = await file.setting.begin(file.freshRows(100), {}, [refusal(3, { tag: 'INVALID_API_KEY' })]);
  await parked(file.setting.temporal, job, 'key');
  const { job: name } = await job.progress();
  await expect.poll(() => typesOf(name), soon).toEqual(['job.paused']);
  await job.resume();
  await job.result();
  await expect.poll(() => typesOf(name), soon).toEqual(['job.paused', 'job.done']);
  const [paused, done] = alertsOf(name);
  expect(paused).toMatchObject({
    text: `Job ${name} is paused: the service refused the API key. Fix this, then: searchflow resume ${name}`,
    data: {
      kind: 'rows',
      reason: 'key',
      scheduled: false,
      next: `searchflow resume ${name}`,
      run: job.handle.firstExecutionRunId,
    },
  });
  expect(done).toMatchObject({
    text: `Job ${name} is done: 100 rows, 0 failed rows, $0.10 in this run.`,
    data: { rows: 100, failedRows: 0, requests: 10, dollars: 0.1, run: job.handle.firstExecutionRunId },
  });
  expect(JSON.stringify(alertsOf(name))).not.toMatch(/https?:\/\/(?!127)|canary|(?<!\.)\b401\b|example\.com/);
});

it('a job whose file is missing fails with an alert that names the job and the kind of failure, not the message', async () => {
  const job = await file.setting.begin(plainRows(1), { input: 'missing-of-this-test.csv', job: 'no-such-file' });
  await expect(job.result()).rejects.toThrow();
  await expect
    .poll(() => receiver.alerts().filter(({ type }) => type === 'job.failed'), soon)
    .toMatchObject([{ data: { failure: 'BadInput', run: job.handle.firstExecutionRunId } }]);
  expect(JSON.stringify(receiver.alerts())).not.toContain('missing-of-this-test');
});

it('a scheduled run that cannot continue reports its stop, and no pause', async () => {
  const job = await file.setting.begin(file.freshRows(100), { scheduled: true } as never, [
    refusal(3, { status: 402, tag: 'NO_MORE_CREDITS' }),
  ]);
  expect(await job.result()).toMatchObject({ phase: 'stopped' });
  const { job: name } = await job.progress();
  await expect.poll(() => typesOf(name), soon).toEqual(['job.stopped']);
  expect(alertsOf(name)[0]).toMatchObject({ data: { reason: 'credits', scheduled: true, rows: 100 } });
});

it('a request without an answer is an alert with the most that it may have cost', async () => {
  const job = await file.setting.begin(file.freshRows(20), {}, [
    { when: { nth: 1 }, do: { kind: 'reset', moment: 'after' } },
  ] as never);
  await job.result();
  const { job: name } = await job.progress();
  await expect.poll(() => [...typesOf(name)].sort(), soon).toEqual(['job.done', 'job.unknown_outcomes']);
  expect(alertsOf(name).find(({ type }) => type === 'job.unknown_outcomes')).toMatchObject({
    data: { outcomes: 1, mostDollars: 0.01 },
  });
});

it('every alert of these tests has the documented form', () => {
  expect(receiver.alerts().length).toBeGreaterThan(5);
  expect(receiver.alerts().flatMap(alertProblems)).toEqual([]);
});
