import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { ScheduleControl } from '../../../dist/worker/schedules/schedule-control.js';
import { checkSchedules, missedRuns } from '../../../dist/worker/schedules/schedule-watch.js';
import type { AlertFact } from '../../../src/core/alerts/alert.js';
import type { ScheduleTiming } from '../../../src/core/schedule-timing.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const HOUR = 3_600_000;
const soon = { timeout: 30_000, interval: 30 };
const yearly = { cron: '0 0 1 1 *', tz: 'UTC' };

const { temporal, setting } = settingOfFile({ sandbox: { events: { count: 50 } } });

/** A schedule that syncs events on a task queue of its own, or on that of the worker. */
async function scheduled(timing: ScheduleTiming = yearly, taskQueue = randomUUID() as string) {
  const { client } = temporal;
  const config = { ...setting.config, taskQueue };
  const control = new ScheduleControl({ client, config, shared: false, allow: async () => undefined });
  const name = `missed-${randomUUID()}`;
  const input = { into: `${setting.config.paths?.[0]}/${name}.duckdb` };
  await control.put(name, { workflow: 'syncEvents', workflowId: name, input }, timing);
  onTestFinished(() => control.remove(name));
  const handle = client.schedule.getHandle(`searchflow-schedule-${name}`);
  /** Triggers a run; returns the ids of its workflow. */
  const trigger = async () => {
    await control.trigger(name);
    await expect.poll(async () => (await handle.describe()).info.recentActions.length, soon).toBe(1);
    return (await handle.describe()).info.recentActions[0]?.action.workflow;
  };
  return { name, taskQueue, control, handle, trigger, about: () => handle.describe() };
}

it('a run that no worker has begun is late after a time, and is reported with the time when a worker began', async () => {
  const { name, taskQueue, trigger, about } = await scheduled(yearly, setting.config.taskQueue);
  const queue = setting.config.taskQueue;
  expect(taskQueue).toBe(queue);
  await setting.host().stop();
  const run = await trigger();
  const at = (await about()).info.recentActions[0]?.scheduledAt.getTime() as number;
  expect(await missedRuns(temporal.client, await about(), { now: at + 60_000 })).toEqual([]);
  expect(await missedRuns(temporal.client, await about(), { now: at + HOUR })).toEqual([
    { schedule: name, job: name, dueAt: at, startedAt: null, missed: 0 },
  ]);
  await setting.anotherHost();
  await temporal.client.workflow.getHandle(run?.workflowId ?? '', run?.firstExecutionRunId).result();
  const [late] = await missedRuns(temporal.client, await about(), { now: at + HOUR, lateMs: 1 });
  expect(late).toMatchObject({ dueAt: at, missed: 0 });
  expect(late?.startedAt).toBeGreaterThan(at);
  // By the usual measure the run began in time, so it is not read again.
  const onTime = new Set<string>();
  expect(await missedRuns(temporal.client, await about(), { now: at + HOUR, onTime })).toEqual([]);
  expect([...onTime]).toEqual([run?.firstExecutionRunId]);
});

it('times that the server did not make up for are missed; those of a paused or changed schedule are not', async () => {
  const { about, name, control } = await scheduled({ cron: '0 * * * *', tz: 'UTC' });
  const now = Date.now();
  const real = await about();
  // The server was down for five hours: this cannot be had from a server that runs.
  const down = { numActionsMissedCatchupWindow: 4, createdAt: new Date(now - 24 * HOUR), recentActions: [] };
  const lastRun = new Date(Math.floor((now - 5 * HOUR) / HOUR) * HOUR + 1000);
  const action = {
    type: 'startWorkflow' as const,
    workflow: { workflowId: 'gone', firstExecutionRunId: randomUUID() },
  };
  const recentActions = [{ scheduledAt: lastRun, takenAt: lastRun, action }];
  const described = { ...real, info: { ...real.info, ...down, recentActions, lastUpdatedAt: undefined } };
  const [missed, ...more] = await missedRuns(temporal.client, described, { now });
  expect(more).toEqual([]);
  expect(missed).toMatchObject({ schedule: name, startedAt: null });
  expect(missed?.missed).toBeGreaterThanOrEqual(4);
  expect(now - (missed?.dueAt ?? 0)).toBeLessThan(HOUR + 15 * 60_000 + 60_000);
  const running = { ...described, info: { ...described.info, runningActions: [action] } };
  expect(await missedRuns(temporal.client, running, { now })).toEqual([]);
  const none = { ...described, info: { ...described.info, numActionsMissedCatchupWindow: 0 } };
  expect(await missedRuns(temporal.client, none, { now })).toEqual([]);
  const changed = { ...described, info: { ...described.info, lastUpdatedAt: new Date(now) } };
  expect(await missedRuns(temporal.client, changed, { now })).toEqual([]);
  await control.pause(name, 'holidays');
  const paused = { ...described, state: (await about()).state };
  expect(await missedRuns(temporal.client, paused, { now })).toEqual([]);
});

it('a scheduled stream that lags is reported once a day until a run completes', async () => {
  const { taskQueue } = setting.config;
  const { name, trigger } = await scheduled(yearly, taskQueue);
  const facts: AlertFact[] = [];
  const { origin } = setting.config;
  const { events } = setting.host().parts.deps;
  const book = { note: async (noted: readonly AlertFact[]) => void facts.push(...noted) };
  const check = async (now: number) => {
    facts.length = 0;
    await checkSchedules(
      temporal.client,
      { taskQueue, origin, book, events, lagMs: 2 * HOUR },
      { now, checksLag: true },
    );
    return facts.filter(({ type, data }) => type === 'events.lag' && data.schedule === name);
  };
  await expect.poll(async () => (await check(Date.now() + 3 * HOUR)).length, soon).toBe(1);
  expect(facts.find(({ data }) => data.schedule === name)?.data).toMatchObject({
    loadedUpTo: null,
    limitSeconds: 7200,
  });
  const run = await trigger();
  await temporal.client.workflow.getHandle(run?.workflowId ?? '', run?.firstExecutionRunId).result();
  expect(await check(Date.now() + HOUR)).toEqual([]);
  const [first] = await check(Date.now() + 3 * HOUR);
  expect(first?.data).toMatchObject({ job: name, stream: 'sync', loadedUpTo: expect.any(String) });
  expect(first?.data.lagSeconds).toBeGreaterThan(2 * 3600);
  const [nextDay] = await check(Date.now() + 27 * HOUR);
  expect(nextDay?.key).not.toEqual(first?.key);
  expect((await check(Date.now() + 3 * HOUR))[0]?.key).toEqual(first?.key);
});
