import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { MonitorControl } from '../../../dist/worker/control/monitor-control.js';
import { monitorWorkflows } from '../../../src/core/monitors/monitor-names.js';
import type { QuietHours, Weekday } from '../../../src/core/monitors/quiet-hours.js';
import { type QuietInput, type QuietOutcome, quietProblem } from '../../../src/core/monitors/quiet-input.js';
import { byChance, type Fault } from '../../service/service.mjs';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { openTemporal } from '../../support/temporal.js';

// The tests use real servers and workers, and the machine may be busy.
vi.setConfig({ testTimeout: 180_000 });

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

const days: Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const nights: QuietHours = { tz: 'Europe/Berlin', from: '20:00', until: '07:00', days, untilDay: null };
const growth = { metadata: { team: 'growth' } };

/** Runs a turn of quiet hours at a time in UTC, as a schedule would. */
async function turn(setting: MonitorSetting, at: string, changes: Partial<QuietInput> = {}): Promise<QuietOutcome> {
  const input: QuietInput = {
    ...{ name: 'nights', hours: nights, filter: growth, into: setting.folder.into, now: Date.parse(`${at}Z`) },
    ...changes,
  };
  return (await setting.start<QuietOutcome>(monitorWorkflows.quietMonitors, input)).result();
}

const statusOf = (setting: MonitorSetting, ...ids: string[]) =>
  ids.map((id) => setting.server.monitors.records.get(id)?.status);

it('monitors are paused when quiet hours begin and put back when they end; others are left unchanged', async () => {
  const setting = await MonitorSetting.open(temporal);
  setting.populate(90);
  const { server } = setting;
  const before = new Map([...server.monitors.records.values()].map(({ id, status }) => [id, status]));
  const active = [...server.monitors.records.values()].filter(
    (one) => one.metadata?.team === 'growth' && one.status === 'active',
  );
  expect(await turn(setting, '2026-01-15T18:00')).toMatchObject({ did: 'nothing' });
  expect(await turn(setting, '2026-01-15T19:00')).toMatchObject({ did: 'begin', paused: active.length });
  for (const [id, status] of before) {
    const wanted = active.some((one) => one.id === id) ? 'paused' : status;
    expect(server.monitors.records.get(id)?.status, id).toBe(wanted);
  }
  expect(await turn(setting, '2026-01-15T20:00')).toMatchObject({ did: 'nothing' });
  expect(await turn(setting, '2026-01-16T06:00')).toMatchObject({ did: 'end', unpaused: active.length, leftCount: 0 });
  expect(new Map([...server.monitors.records.values()].map(({ id, status }) => [id, status]))).toEqual(before);
});

it.each([
  // Start and end of each night in UTC: 20:00 and 07:00 in Berlin, before, across and after the change of the clock.
  [
    'to summer time',
    [
      '2026-03-27T19:00',
      '2026-03-28T06:00',
      '2026-03-28T19:00',
      '2026-03-29T05:00',
      '2026-03-29T18:00',
      '2026-03-30T05:00',
    ],
  ],
  [
    'to winter time',
    [
      '2026-10-23T18:00',
      '2026-10-24T05:00',
      '2026-10-24T18:00',
      '2026-10-25T06:00',
      '2026-10-25T19:00',
      '2026-10-26T06:00',
    ],
  ],
])('over the change %s, while a person pauses and unpauses some, each night is right', async (_what, moments) => {
  const setting = await MonitorSetting.open(temporal);
  const { server } = setting;
  const [plain, resumed, held] = [1, 2, 3].map(
    (number) => server.monitors.add({ name: `growth ${number}`, ...growth }).id,
  ) as [string, string, string];
  for (let night = 0; night < moments.length; night += 2) {
    const [begins, ends] = [moments[night] as string, moments[night + 1] as string];
    const minuteBefore = (at: string) => new Date(Date.parse(`${at}Z`) - 60_000).toISOString().slice(0, 16);
    expect(await turn(setting, minuteBefore(begins))).toMatchObject({ did: 'nothing' });
    expect(await turn(setting, begins)).toMatchObject({ did: 'begin' });
    expect(statusOf(setting, plain, resumed)).toEqual(['paused', 'paused']);
    // A person unpauses one monitor. In the first night a person also unpauses and pauses another one, which then stays paused.
    server.monitors.change(resumed, { status: 'active' });
    if (night === 0) for (const status of ['active', 'paused']) server.monitors.change(held, { status });
    expect(await turn(setting, minuteBefore(ends))).toMatchObject({ did: 'nothing' });
    const outcome = await turn(setting, ends);
    expect(outcome).toMatchObject({ did: 'end', unpaused: 1, leftCount: night === 0 ? 2 : 1 });
    expect(statusOf(setting, plain, resumed, held)).toEqual(['active', 'active', 'paused']);
  }
  expect(
    await setting.query(
      'SELECT monitor_id AS id, CAST(count(*) AS INTEGER) AS n FROM monitor_quiet_reports GROUP BY 1 ORDER BY 1',
    ),
  ).toEqual([
    { id: resumed, n: 3 },
    { id: held, n: 1 },
  ]);
});

it('a monitor that a person pauses with our command during quiet hours stays paused', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { server } = setting;
  const [first, second] = [
    server.monitors.add({ name: 'launches', ...growth }).id,
    server.monitors.add({ name: 'other', ...growth }).id,
  ];
  await turn(setting, '2026-01-15T19:00');
  const summary = await (await setting.batch({ action: 'pause', filter: { name: 'launches' } })).result();
  expect(summary).toMatchObject({ plan: { planned: 0, already: 1 }, calls: 0 });
  const outcome = await turn(setting, '2026-01-16T06:00');
  expect(outcome).toMatchObject({ unpaused: 1, left: [{ id: first, what: 'Ann paused it, too' }] });
  expect(statusOf(setting, first, second)).toEqual(['paused', 'active']);
});

it('a removal in the middle of quiet hours puts back the monitors that they paused', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { server } = setting;
  const ids = [1, 2, 3].map(() => server.monitors.add(growth).id);
  await turn(setting, '2026-01-15T19:00');
  server.monitors.records.delete(ids[2] as string);
  expect(await turn(setting, '2026-01-15T22:00', { restore: true })).toMatchObject({
    ...{ did: 'end', unpaused: 2 },
    left: [{ id: ids[2], what: 'it was deleted' }],
  });
  expect(server.monitors.idsOf('paused')).toEqual([]);
  expect(await setting.query('SELECT * FROM monitor_quiet')).toEqual([]);
  expect(await setting.query('SELECT * FROM monitor_quiet_marks')).toEqual([]);
});

it('faults 3, 4, 5: lost, refused and broken answers do not change which monitors are paused and put back', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { server } = setting;
  const ids = Array.from({ length: 16 }, () => server.monitors.add(growth).id);
  const faults: Fault[] = [
    'ok',
    'ok',
    'ok',
    'ok',
    'ok',
    'ok',
    429,
    'ok',
    500,
    'lost',
    'ok',
    'ok',
    'failed',
    'ok',
    'reset',
    503,
  ];
  server.faultOf = byChance(faults);
  expect(await turn(setting, '2026-01-15T19:00')).toMatchObject({ paused: 16 });
  expect(server.monitors.idsOf('paused')).toEqual(ids);
  expect(await turn(setting, '2026-01-16T06:00')).toMatchObject({ unpaused: 16, leftCount: 0 });
  expect(server.monitors.idsOf('active')).toEqual(ids);
});

it.each(['pause', 'unpause'] as const)(
  'fault 24: a worker that ends in the middle of a turn to %s leaves nothing that the next one misses',
  async (half) => {
    const setting = await MonitorSetting.open(temporal);
    const { server } = setting;
    const ids = Array.from({ length: 40 }, () => server.monitors.add(growth).id);
    if (half === 'unpause') await turn(setting, '2026-01-15T19:00');
    let changes = 0;
    // From the eleventh change on, the service makes the change, but its answer does not arrive.
    server.faultOf = (_call, method) => (method === 'PATCH' && ++changes > 10 ? 'lost' : 'ok');
    const at = half === 'pause' ? '2026-01-15T19:00' : '2026-01-16T06:00';
    const going = turn(setting, at);
    await expect.poll(() => changes, { timeout: 20_000 }).toBeGreaterThan(12);
    const begin = await setting.withoutHost();
    server.faultOf = () => 'ok';
    await begin();
    await going;
    expect(server.monitors.idsOf(half === 'pause' ? 'paused' : 'active')).toEqual(ids);
    if (half === 'pause') {
      expect(await turn(setting, '2026-01-16T06:00')).toMatchObject({ unpaused: 40, leftCount: 0 });
      expect(server.monitors.idsOf('active')).toEqual(ids);
    }
  },
);

it('overlapping quiet hours put monitors back when the last of them ends, and none before', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { server } = setting;
  const ids = Array.from({ length: 4 }, () => server.monitors.add(growth).id);
  const late = { name: 'late', hours: { ...nights, from: '22:00', until: '08:00' } };
  const inner = { name: 'inner', hours: { ...nights, from: '23:00', until: '03:00' } };
  expect(await turn(setting, '2026-01-15T19:00')).toMatchObject({ did: 'begin', paused: 4 });
  expect(await turn(setting, '2026-01-15T21:00', late)).toMatchObject({ did: 'begin', paused: 4 });
  expect(await turn(setting, '2026-01-15T22:00', inner)).toMatchObject({ did: 'begin', paused: 4 });
  // A person unpauses and pauses one of the monitors during the quiet hours.
  for (const status of ['active', 'paused']) server.monitors.change(ids[0] as string, { status });
  expect(await turn(setting, '2026-01-16T02:00', inner)).toMatchObject({ did: 'end', unpaused: 0, leftCount: 4 });
  expect(await turn(setting, '2026-01-16T06:00')).toMatchObject({ did: 'end', unpaused: 0, leftCount: 4 });
  expect(server.monitors.idsOf('paused')).toEqual(ids);
  expect(await turn(setting, '2026-01-16T07:00', late)).toMatchObject({ did: 'end', unpaused: 3, leftCount: 1 });
  expect(server.monitors.idsOf('active')).toEqual(ids.slice(1));
});

it('quiet hours are two schedules in their zone that start one turn each, and none after their removal', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { server, config, folder } = setting;
  const id = server.monitors.add(growth).id;
  const { client } = temporal;
  const control = new MonitorControl({ client, config, shared: false, allow: async () => undefined }, folder.dir);
  const hours: QuietHours = { tz: 'Europe/Berlin', from: '20:00', until: '07:00', days: ['fri'], untilDay: null };
  const name = `weekly-${Date.now()}`;
  const takeTurn = await control.quiet.add({ name, hours, filter: growth, ...control.target(folder.into) });
  await takeTurn();
  const about = async (edge: string) =>
    (await client.schedule.getHandle(`searchflow-quiet-${name}-${edge}`).describe()).spec;
  const { catchupWindow } = (await client.schedule.getHandle(`searchflow-quiet-${name}-end`).describe()).policies;
  // If a laptop is closed over a long weekend, the monitors are unpaused when it is opened.
  expect(catchupWindow).toBeGreaterThan(7 * 86_400_000);
  const calendars = (spec: Awaited<ReturnType<typeof about>>) =>
    spec.calendars?.map(({ hour, minute, dayOfWeek }) => [hour?.[0]?.start, minute?.[0]?.start, dayOfWeek?.[0]?.start]);
  const [begins, ends] = [await about('begin'), await about('end')];
  expect([begins.timezone, ends.timezone]).toEqual(['Europe/Berlin', 'Europe/Berlin']);
  expect(calendars(begins)).toEqual([
    [20, 0, 'FRIDAY'],
    [21, 0, 'FRIDAY'],
  ]);
  expect(calendars(ends)).toEqual([
    [7, 0, 'SATURDAY'],
    [8, 0, 'SATURDAY'],
  ]);
  await expect(
    control.quiet.add({ name, hours: { ...hours, from: '21:00' }, filter: growth, into: folder.into }),
  ).rejects.toThrow(/already/);
  await expect
    .poll(async () => (await control.quiet.list()).map(({ input }) => input.name), { timeout: 10_000 })
    .toContain(name);
  await client.schedule.getHandle(`searchflow-quiet-${name}-begin`).trigger();
  await expect
    .poll(
      async () =>
        (await client.schedule.getHandle(`searchflow-quiet-${name}-begin`).describe()).info.recentActions.length,
      {
        timeout: 10_000,
      },
    )
    .toBe(1);
  await (await control.quiet.remove(name))();
  await expect(about('begin')).rejects.toThrow();
  await expect(about('end')).rejects.toThrow();
  await expect(control.quiet.remove(name)).rejects.toThrow(/no quiet hours/);
  expect(statusOf(setting, id)).toEqual(['active']);
});

it('quiet hours that are removed while monitors are being paused end at once, and put them back', async () => {
  const setting = await MonitorSetting.open(temporal, { rate: { qps: 40 } });
  const { server, config, folder } = setting;
  const ids = Array.from({ length: 300 }, () => server.monitors.add(growth).id);
  const control = new MonitorControl(
    { client: temporal.client, config, shared: false, allow: async () => undefined },
    folder.dir,
  );
  const hour = (by: number) => `${(new Date().getUTCHours() + 24 + by) % 24}:00`;
  const hours: QuietHours = { tz: 'UTC', from: hour(-1), until: hour(2), days, untilDay: null };
  const name = `typo-${Date.now()}`;
  const wanted = { name, hours, filter: growth, ...control.target(folder.into) };
  const turn = (await control.quiet.add(wanted))();
  turn.catch(() => undefined);
  const changes = (status: string) =>
    server.log.filter(({ method, body }) => method === 'PATCH' && (body as { status: string }).status === status)
      .length;
  await expect.poll(() => changes('paused'), { timeout: 60_000, interval: 20 }).toBeGreaterThan(10);
  const outcome = await (await control.quiet.remove(name))();
  await expect(turn).rejects.toThrow('cancelled');
  // Changes in flight at the removal still land, and the turn notices its cancellation after a second or two.
  expect(changes('paused')).toBeLessThan(250);
  expect(outcome).toMatchObject({ unpaused: changes('paused'), leftCount: 0 });
  expect(server.monitors.idsOf('active')).toEqual(ids);
});

it.each([
  [{ filter: { metadata: {} } }, /never cover all monitors/],
  [{ filter: { status: 'active' } }, /filter.status/],
  [{ filter: { metadata: JSON.parse('{"__proto__":"x"}') } }, /__proto__/],
  [{ hours: { ...nights, tz: 'Berlin' } }, /hours.tz/],
] as [Partial<QuietInput>, RegExp][])('%j is refused as quiet hours', (changes, message) => {
  const input = { name: 'nights', hours: nights, filter: growth, into: 'out.duckdb' };
  expect(quietProblem(input)).toBeNull();
  expect(quietProblem({ ...input, ...changes })).toMatch(message);
  expect(quietProblem({ ...input, ...changes, restore: true })).toBeNull();
});

it('invalid quiet hours are refused before anything is sent', async () => {
  const setting = await MonitorSetting.open(temporal);
  const error = await turn(setting, '2026-01-15T19:00', { filter: { metadata: {} } }).catch((thrown: Error) => thrown);
  expect((error as Error).cause).toMatchObject({ type: 'BadInput', message: expect.stringMatching(/all monitors/) });
  expect(setting.server.log).toEqual([]);
});
