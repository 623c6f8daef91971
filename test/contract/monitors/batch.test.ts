import { expect, it, vi } from 'vitest';
import type { BatchMonitorsInput } from '../../../src/core/workflow-input-schemas.js';
import type { BatchSummary, ScheduledOutcome } from '../../../src/core/workflow-result-schemas.js';
import type { StoredMonitor } from '../../service/service.mjs';
import { failureOf, MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

// The tests use real servers and workers, and the machine may be busy.
vi.setConfig({ testTimeout: 180_000 });

const temporal = temporalOfFile();
const approval = { by: 'Bob', why: 'as agreed' };
const isDaily = ({ name }: StoredMonitor) => /daily/i.test(name ?? '');
const grows = ({ metadata }: StoredMonitor) => metadata?.team === 'growth';

it.each<readonly [string, BatchMonitorsInput, (one: StoredMonitor) => boolean]>([
  ['pause by name', { action: 'pause', filter: { name: 'dAILy' }, limit: 70 }, isDaily],
  ['delete by metadata', { action: 'delete', filter: { metadata: { team: 'growth' } }, approval }, grows],
])(
  '%s affects exactly the right ones of 1,200 monitors, never a disabled one, and ends',
  async (_what, input, matches) => {
    const setting = await MonitorSetting.open(temporal);
    setting.populate();
    const { server } = setting;
    const all = [...server.monitors.records.values()].map((one) => ({ ...one }));
    const right = all
      .filter((one) => matches(one) && (input.action === 'delete' || one.status === 'active'))
      .map(({ id }) => id);
    const summary = await (await setting.batch(input)).result();
    expect(summary).toMatchObject({
      ...{ phase: 'done', plan: { planned: right.length }, affected: right.length, lost: 0 },
      effect: { affected: right.length, unplanned: 0, missed: 0, others: 0, examples: [] },
      calls: Math.ceil(right.length / (input.limit ?? 100)),
    });
    const changed = all.filter((one) => server.monitors.records.get(one.id)?.updatedAt !== one.updatedAt);
    expect(changed.map(({ id }) => id)).toEqual(right);
    const calls = setting.batchCalls();
    expect(calls.flatMap(({ ids }) => ids).sort()).toEqual([...right].sort());
    const audit = await setting.query<{ id: string; request_id: string; by: string }>(
      `SELECT monitor_id AS id, request_id, approved_by AS by FROM monitor_actions WHERE planned = 1 ORDER BY 1`,
    );
    const requests = new Map(calls.flatMap(({ ids, requestId }) => ids.map((id) => [id, requestId] as const)));
    const by = input.approval ? 'Bob' : 'Ann';
    expect(audit).toEqual([...right].sort().map((id) => ({ id, request_id: requests.get(id), by })));
  },
);

it('a batch does nothing if the dry run of the service contradicts its list', async () => {
  const setting = await MonitorSetting.open(temporal);
  setting.populate(20);
  const { server } = setting;
  // Before each dry run another client adds a monitor that is not in the list.
  server.meanwhile = (_call, method) => {
    if (method === 'POST') server.monitors.add({ name: 'daily newcomer' });
  };
  const handle = await setting.batch({ action: 'pause', filter: { name: 'daily' } });
  expect(await failureOf(handle.result())).toMatchObject({ type: 'PlanDiffers' });
  expect(setting.batchCalls()).toEqual([]);
});

it('two schedules of a batch pause monitors and unpause exactly these, whatever others did meanwhile', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { monitors } = setting.server;
  const growth = { metadata: { team: 'growth' } };
  const [plain, resumed, renamed, theirs, gone] = Array.from({ length: 5 }, () => monitors.add(growth).id) as string[];
  const before = monitors.add({ ...growth, status: 'paused' }).id;
  const { into } = setting.folder;
  const scheduled = async (schedule: string, input: object) => {
    const work = {
      schedule,
      workflow: 'batchMonitors',
      workflowId: `${schedule}-${into}`,
      input: { into, schedule, ...input },
    };
    const { summary, phase } = await (await setting.start<ScheduledOutcome>('scheduledJob', work)).result();
    expect(phase).toBe('done');
    return summary as BatchSummary;
  };
  const pause = { action: 'pause', filter: growth };
  const end = { action: 'unpause', ofSchedule: 'weekend' };
  const status = (...ids: (string | undefined)[]) => ids.map((id) => monitors.records.get(id ?? '')?.status);
  // The first end comes before the first pause: nothing is to be done.
  expect((await scheduled('weekend-end', end)).plan).toMatchObject({ planned: 0 });
  expect((await scheduled('weekend', pause)).effect).toMatchObject({ affected: 5 });
  monitors.change(resumed as string, { status: 'active' });
  monitors.change(renamed as string, { name: 'another' });
  monitors.records.delete(gone as string);
  // A person pauses one that is paused already, by a batch of the same filter.
  monitors.change(theirs as string, { status: 'active' });
  await (await setting.batch({ action: 'pause', filter: growth })).result();
  const done = await scheduled('weekend-end', end);
  expect(done).toMatchObject({ phase: 'done', calls: 0, plan: { planned: 0, left: 5 } });
  expect(status(plain, resumed, renamed, theirs, before)).toEqual(Array(5).fill('paused'));
  for (const id of [plain, renamed, theirs, resumed]) monitors.change(id as string, { status: 'active' });

  expect((await scheduled('weekend', pause)).effect).toMatchObject({ affected: 4 });
  monitors.change(resumed as string, { status: 'active' });
  monitors.change(renamed as string, { name: 'once more' });
  expect((await scheduled('weekend-end', end)).effect).toMatchObject({ affected: 2, missed: 0 });
  expect(status(plain, theirs, resumed, renamed, before)).toEqual(['active', 'active', 'active', 'paused', 'paused']);
  expect((await scheduled('weekend-end', end)).plan).toMatchObject({ planned: 0, left: 2 });
});

it('an unpause of a schedule leaves what changes meanwhile, and continues after its worker ended', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { monitors } = setting.server;
  const growth = { metadata: { team: 'growth' } };
  const ids = Array.from({ length: 60 }, () => monitors.add(growth).id);
  await (await setting.batch({ action: 'pause', filter: growth, schedule: 'weekend' })).result();
  let changes = 0;
  let restart: Promise<() => Promise<void>> | null = null;
  setting.server.meanwhile = (_call, method, path) => {
    if (method !== 'PATCH') return;
    if (++changes === 30) restart = setting.withoutHost();
    if (path.endsWith(ids[59] as string)) monitors.change(ids[58] as string, { name: 'changed' });
  };
  const handle = await setting.batch({ action: 'unpause', ofSchedule: 'weekend' });
  await vi.waitFor(() => expect(restart).not.toBeNull(), { timeout: 60_000, interval: 50 });
  const start = await (restart as unknown as Promise<() => Promise<void>>);
  await start();
  const summary = await handle.result();
  const { affected = 0, others = 0, missed } = summary.effect ?? {};
  expect([affected + others, missed]).toEqual([60, 0]);
  expect(ids.filter((id) => monitors.records.get(id)?.status !== 'active').length).toBeLessThanOrEqual(1);
});
