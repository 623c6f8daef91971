import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BatchMonitorsInput, batchProblem } from '../../../src/core/monitor-batch.js';
import { startOwnTemporal } from '../../support/temporal.js';
import { byChance, type Fault, type StoredMonitor } from '../../service/service.mjs';
import { MonitorSetting } from '../../support/monitors/setting.js';

// Real servers and workers, perhaps on a machine that is busy.
vi.setConfig({ testTimeout: 180_000 });

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startOwnTemporal(['limit.historyCount.suggestContinueAsNew=200']);
});
afterAll(() => temporal?.teardown());

async function failureOf(result: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await result.then(
    () => new Error('it did not fail'),
    (thrown: Error) => thrown,
  );
  expect(error.cause).toBeInstanceOf(ApplicationFailure);
  return error.cause as ApplicationFailure;
}

type Case = readonly [string, BatchMonitorsInput, (monitor: StoredMonitor) => boolean];
const approval = { by: 'Bob', why: 'as agreed' };
const cases: readonly Case[] = [
  ['pause by name', { action: 'pause', filter: { name: 'dAILy' } }, (one) => /daily/i.test(one.name ?? '')],
  [
    'pause by metadata, all pairs',
    { action: 'pause', filter: { metadata: { team: 'sales', region: 'eu' } } },
    (one) => one.metadata?.team === 'sales',
  ],
  ['pause by nothing but status', { action: 'pause', filter: { status: 'active' } }, () => true],
  [
    'pause seven at a time',
    { action: 'pause', filter: { metadata: { team: 'growth' } }, limit: 7 },
    (one) => one.metadata?.team === 'growth',
  ],
  ['unpause by name', { action: 'unpause', filter: { name: 'weekly' } }, (one) => /weekly/.test(one.name ?? '')],
  [
    'delete by metadata',
    { action: 'delete', filter: { metadata: { team: 'growth' } }, approval },
    (one) => one.metadata?.team === 'growth',
  ],
];
const before = { pause: 'active', unpause: 'paused', delete: null } as const;

describe.each(cases)('%s', (_what, input, matches) => {
  it('affects exactly the right ones of 1,200 monitors, never a disabled one, and ends', async () => {
    const setting = await MonitorSetting.open(temporal);
    setting.populate();
    const { server } = setting;
    const all = [...server.monitors.records.values()].map((one) => ({ ...one }));
    const from = before[input.action];
    const right = all.filter((one) => matches(one) && (from === null || one.status === from)).map(({ id }) => id);
    const summary = await (await setting.batch(input)).result();
    expect(summary).toMatchObject({
      phase: 'done',
      plan: { planned: right.length },
      affected: right.length,
      effect: { affected: right.length, unplanned: 0, missed: 0, others: 0, examples: [] },
      calls: Math.ceil(right.length / (input.limit ?? 100)),
      lost: 0,
    });
    const changed = all
      .filter((one) => server.monitors.records.get(one.id)?.updatedAt !== one.updatedAt)
      .map(({ id }) => id);
    expect(changed).toEqual(right);
    const calls = setting.batchCalls();
    expect(calls.flatMap(({ ids }) => ids).sort()).toEqual([...right].sort());
    const audit = await setting.query<{ id: string; request_id: string; by: string }>(
      `SELECT monitor_id AS id, request_id, approved_by AS by FROM monitor_actions WHERE planned = 1 ORDER BY 1`,
    );
    const requests = new Map(calls.flatMap(({ ids, requestId }) => ids.map((id) => [id, requestId] as const)));
    expect(audit).toEqual(
      [...right].sort().map((id) => ({ id, request_id: requests.get(id), by: input.approval ? 'Bob' : 'Ann' })),
    );
  });
});

/** Answers are lost, refused and broken by turns, before and behind what they do. */
const faults: readonly Fault[] = ['ok', 429, 'ok', 500, 'lost', 'ok', 'failed', 'ok', 'reset', 503, 'ok', 'lost'];

it.each(['pause', 'delete'] as const)(
  'faults 3, 4, 5: %s affects each monitor once and writes it down once, whatever becomes of the answers',
  async (action) => {
    const setting = await MonitorSetting.open(temporal);
    setting.populate(300);
    const { server } = setting;
    server.faultOf = byChance(faults);
    const right = [...server.monitors.records.values()]
      .filter((one) => one.metadata?.team === 'growth' && (action === 'delete' || one.status === 'active'))
      .map(({ id }) => id);
    const filter = { metadata: { team: 'growth' } };
    const summary = await (await setting.batch({ action, filter, limit: 20, approval })).result();
    expect(summary).toMatchObject({
      phase: 'done',
      affected: right.length,
      effect: { affected: right.length, unplanned: 0, missed: 0, others: 0 },
    });
    expect(summary.lost).toBeGreaterThan(0);
    const affected = setting.batchCalls().flatMap(({ ids }) => ids);
    expect([...affected].sort()).toEqual([...right].sort());
    const rows = await setting.query<{ id: string; request_id: string | null; note: string | null }>(
      'SELECT monitor_id AS id, request_id, note FROM monitor_actions WHERE planned = 1',
    );
    expect(rows.map(({ id }) => id).sort()).toEqual([...right].sort());
    const unanswered = rows.filter(({ request_id }) => request_id === null);
    expect(unanswered.length).toBeGreaterThan(0);
    expect(new Set(unanswered.map(({ note }) => note))).toEqual(
      new Set(['the answer was lost; a look at the list showed it']),
    );
  },
);

it.each(['endless', 'circling', 'inventing'] as const)(
  'a batch endpoint that is %s ends the loop with an error within three calls that affect nothing new',
  async (batches) => {
    const setting = await MonitorSetting.open(temporal);
    setting.populate(60);
    setting.server.monitors.batches = batches;
    const handle = await setting.batch({ action: 'pause', filter: { name: 'daily' }, limit: 100 });
    const failure = await failureOf(handle.result());
    expect(failure).toMatchObject({
      type: 'NoProgress',
      message: expect.stringMatching(/no monitor that was not affected/),
    });
    expect(setting.batchCalls().length).toBeLessThanOrEqual(3);
    expect(await setting.query('SELECT phase FROM monitor_batches')).toEqual([{ phase: 'failed' }]);
  },
);

describe('approval', () => {
  const input: BatchMonitorsInput = { action: 'delete', filter: { name: 'daily' } };

  async function waiting(changes: Partial<BatchMonitorsInput> = {}) {
    const setting = await MonitorSetting.open(temporal);
    setting.populate(20);
    const handle = await setting.batch({ ...input, ...changes });
    await expect.poll(async () => (await setting.progress(handle)).phase, { timeout: 20_000 }).toBe('waiting');
    return { setting, handle };
  }

  it('nothing is deleted before somebody approves, and the audit says who and why', async () => {
    const { setting, handle } = await waiting();
    expect((await setting.progress(handle)).plan).toMatchObject({ planned: 10, examples: { length: 10 } });
    expect(setting.batchCalls()).toEqual([]);
    await expect(handle.executeUpdate('approve', { args: [{ by: '' }] })).rejects.toThrow();
    await handle.executeUpdate('approve', { args: [{ by: 'Bob', why: 'old ones' }] });
    expect(await handle.result()).toMatchObject({
      phase: 'done',
      affected: 10,
      decision: { by: 'Bob', approved: true },
    });
    expect(setting.server.monitors.records.size).toBe(10);
    expect(await setting.query('SELECT asked_by, decided_by, decided_why FROM monitor_batches')).toEqual([
      { asked_by: 'Ann', decided_by: 'Bob', decided_why: 'old ones' },
    ]);
  });

  it('a rejected batch does nothing, and a second decision is refused', async () => {
    const { setting, handle } = await waiting();
    await handle.executeUpdate('reject', { args: [{ by: 'Bob', why: 'still needed' }] });
    expect(await handle.result()).toMatchObject({ phase: 'rejected', effect: null });
    await expect(handle.executeUpdate('approve', { args: [{ by: 'Eve' }] })).rejects.toThrow();
    expect(setting.server.monitors.records.size).toBe(20);
    expect(await setting.query('SELECT phase, decided_by FROM monitor_batches')).toEqual([
      { phase: 'rejected', decided_by: 'Bob' },
    ]);
  });

  it('an approval that does not come in time ends the batch', async () => {
    const { setting, handle } = await waiting({ approvalWithinMs: 1500 });
    expect(await handle.result()).toMatchObject({ phase: 'expired', effect: null });
    expect(setting.batchCalls()).toEqual([]);
  });
});

it.each([
  [{ action: 'pause', filter: {} }, /filter/],
  [{ action: 'pause', filter: { metadata: {} } }, /filter/],
  [{ action: 'pause', filter: { name: 'a', metadata: JSON.parse('{"__proto__":"x"}') } }, /__proto__/],
  [{ action: 'pause', filter: { name: 'a', metadata: { team: 7 } } }, /metadata/],
  [{ action: 'pause', filter: { name: 'a', metdata: { team: 'growth' } } }, /metdata/],
  [{ action: 'pause', filter: { status: 'disabled' } }, /disabled/],
  [{ action: 'unpause', filter: { name: 'a' }, limit: 501 }, /limit/],
  [{ action: 'stop', filter: { name: 'a' } }, /action/],
  [{ action: 'delete', filter: { name: 'a' }, approval: 'none' }, /approval/],
])('%j is no batch', (input, message) => {
  expect(batchProblem(input as BatchMonitorsInput)).toMatch(message);
});

it('what is no batch is refused before anything is sent', async () => {
  const setting = await MonitorSetting.open(temporal);
  const handle = await setting.batch({ action: 'pause', filter: { metadata: {} } });
  expect(await failureOf(handle.result())).toMatchObject({
    type: 'BadInput',
    message: expect.stringMatching(/filter/),
  });
  expect(setting.server.log).toEqual([]);
});

it('a service whose dry run contradicts its list is not trusted with anything', async () => {
  const setting = await MonitorSetting.open(temporal);
  setting.populate(20);
  const { server } = setting;
  // Between each list and its dry run a monitor comes along.
  server.meanwhile = (_call, method) => {
    if (method === 'POST') server.monitors.add({ name: 'daily newcomer' });
  };
  const handle = await setting.batch({ action: 'pause', filter: { name: 'daily' } });
  expect(await failureOf(handle.result())).toMatchObject({ type: 'PlanDiffers' });
  expect(setting.batchCalls()).toEqual([]);
});

it('where nothing matches nothing is called, and nobody is asked', async () => {
  const setting = await MonitorSetting.open(temporal);
  setting.populate(10);
  const summary = await (await setting.batch({ action: 'delete', filter: { name: 'nothing has this name' } })).result();
  expect(summary).toMatchObject({ phase: 'done', plan: { planned: 0 }, calls: 0, effect: { affected: 0 } });
  expect(setting.batchCalls()).toEqual([]);
});

it('a batch that is meant for another service is left alone by a worker of this one', async () => {
  const setting = await MonitorSetting.open(temporal);
  setting.populate(10);
  const origin = 'https://another.example';
  const handle = await setting.batch({ action: 'delete', filter: { name: 'daily' }, approval, origin });
  await expect
    .poll(async () => (await handle.describe()).raw.pendingActivities?.[0]?.lastFailure?.message, { timeout: 20_000 })
    .toContain(origin);
  expect(setting.server.log).toEqual([]);
  await handle.terminate();
});
