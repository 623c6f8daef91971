import { describe, expect, it, onTestFinished } from 'vitest';
import { createMonitorExportActivities } from '../../../src/activities/monitors/monitor-export.js';
import { createMonitorQuietActivities } from '../../../src/activities/monitors/monitor-quiet.js';
import type { QuietHours } from '../../../src/core/monitors/quiet-hours.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { startService } from '../../service/service.mjs';
import { monitorContract } from '../../suites/monitor-contract.js';
import { ActivitySetting, attempt, quiet } from '../../support/activities/activity-setting.js';
import { Folder } from '../../support/jobs/folder.js';
import { duckDbUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('monitors in a DuckDB file', () => monitorContract(duckDbUnderTest));

/** A service, and the activities of a worker on a warehouse. */
async function world() {
  const [service, setting, folder] = [await startService(), await ActivitySetting.open(), new Folder()];
  const warehouse = createWarehouses().open(folder.into).monitors;
  onTestFinished(async () => {
    await warehouse.close();
    await setting.close();
    await service.close();
    folder.remove();
  });
  const worker = setting.worker({ baseUrl: service.url }, service.url);
  const deps = { ...worker, monitors: { ...worker.monitors, warehouse: async () => warehouse } };
  return { service, warehouse, folder, deps };
}

describe('an export of the runs of monitors', () => {
  /** A service with one monitor, and an export of it into a warehouse. */
  async function opened() {
    const { service, warehouse, folder, deps } = await world();
    const { id } = service.monitors.add();
    const run = (name: string, changes: object = {}) => ({
      ...{ id: name, monitorId: id, status: 'completed', createdAt: '2026-01-01T00:00:00.000Z' },
      ...changes,
    });
    const { exportMonitors, exportRunSlice } = createMonitorExportActivities(deps);
    const exported = async (mark: string, runs: readonly object[], filter = {}) => {
      service.monitors.runs.set(id, runs as never);
      const step = { into: folder.into, mark };
      await attempt(exportMonitors, { ...step, filter });
      return attempt(exportRunSlice, step);
    };
    const query = async (sql: string) => {
      await warehouse.close();
      return folder.query<{ id: string; status?: string }>(sql);
    };
    const rows = () => query('SELECT id, status FROM monitor_runs ORDER BY id');
    const gone = () => query('SELECT id FROM monitors WHERE gone_at IS NOT NULL');
    return { service, id, run, exported, rows, gone };
  }
  const page = (number: number) =>
    Array.from({ length: number }, (_, index) => `run-${String(index).padStart(3, '0')}`);

  it('reads a run again that was in progress, with its output, and no run that had ended', async () => {
    const { service, run, exported, rows } = await opened();
    const going = run('run-2', { status: 'running' });
    expect(await exported('first', [run('run-1'), going])).toMatchObject({
      complete: true,
      read: 1,
      added: 2,
      again: 0,
    });
    expect(await rows()).toEqual([
      { id: 'run-1', status: 'completed' },
      { id: 'run-2', status: 'running' },
    ]);
    const before = service.log.length;
    const output = { results: [{ url: 'https://a.example/' }] };
    const ended = run('run-2', { output });
    expect(await exported('second', [run('run-1'), ended])).toMatchObject({ added: 0, again: 1, results: 1 });
    expect((await rows())[1]).toEqual({ id: 'run-2', status: 'completed' });
    const reads = service.log.slice(before).filter(({ path }) => /\/runs\/./.test(path));
    expect(reads.map(({ path }) => path.split('/').at(-1))).toEqual(['run-2']);
  });

  it('reads a run in progress again that newer runs have moved off the pages it reads', async () => {
    const { service, id, run, exported, rows } = await opened();
    const names = page(101);
    const first = names.map((name, index) => run(name, index === 0 ? { status: 'running' } : {}));
    expect(await exported('first', first)).toMatchObject({ complete: true, added: 101 });
    const before = service.log.length;
    const all = [...names, 'run-101'].map((name) => run(name));
    expect(await exported('second', all)).toMatchObject({ complete: true, read: 1, added: 1, again: 1 });
    const lists = service.log.slice(before).filter(({ path }) => path === `/monitors/${id}/runs`);
    expect(lists).toHaveLength(1);
    expect((await rows()).filter(({ status }) => status !== 'completed')).toEqual([]);
  });

  it('marks no monitor as gone that its filter leaves out, and keeps the runs of a deleted one', async () => {
    const { service, id, run, exported, rows, gone } = await opened();
    await exported('first', [run('run-1')]);
    expect(await exported('second', [run('run-1')], { name: 'another' })).toMatchObject({ complete: true, read: 0 });
    expect(await gone()).toEqual([]);
    service.monitors.records.delete(id);
    expect(await exported('third', [])).toMatchObject({ complete: true, read: 0 });
    expect(await gone()).toEqual([{ id }]);
    expect(await rows()).toEqual([{ id: 'run-1', status: 'completed' }]);
  });
});

describe('quiet hours', () => {
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
  const hours = { tz: 'UTC', from: '20:00', until: '07:00', days, untilDay: null } as unknown as QuietHours;
  const at = (day: number, hour: number) => Date.UTC(2026, 0, day, hour);
  const [night, morning, nextNight] = [at(5, 21), at(6, 8), at(6, 21)];
  const window = '2026-01-05';

  async function opened(count = 3) {
    const { service, warehouse, folder, deps } = await world();
    const { monitors } = service;
    const ids = Array.from({ length: count }, (_, index) => monitors.add({ name: `daily ${index}` }).id) as [
      string,
      string,
      string,
    ];
    const { takeQuietTurn } = createMonitorQuietActivities(deps);
    const stepOf = (now: number, name = 'nights') => ({
      name,
      into: folder.into,
      filter: { name: 'daily' },
      hours,
      now,
    });
    const turn = (now: number, name = 'nights', changes: object = {}) =>
      attempt(takeQuietTurn, { ...stepOf(now, name), ...changes });
    /** Runs a turn of quiet hours that is cancelled when it sends its first change. */
    const cancelled = (now: number) => {
      const environment = quiet();
      service.meanwhile = (_call, method) => {
        if (method === 'PATCH') environment.cancel();
      };
      return environment.run(takeQuietTurn, stepOf(now));
    };
    const statuses = () => ids.map((id) => monitors.records.get(id)?.status);
    const patches = () => service.log.filter(({ method }) => method === 'PATCH').length;
    return { service, monitors, memory: warehouse.quiet, origin: deps.origin, ids, turn, cancelled, statuses, patches };
  }

  it('pause each active monitor once, unpause only those, and pause again on the next night', async () => {
    const { monitors, ids, turn, statuses, patches } = await opened();
    monitors.change(ids[2], { status: 'paused' });
    const other = monitors.add({ name: 'weekly' });
    expect(await turn(night)).toMatchObject({ did: 'begin', window, paused: 2, left: [] });
    expect(statuses()).toEqual(['paused', 'paused', 'paused']);
    // A person unpauses a monitor, and it stays active until these quiet hours end.
    monitors.change(ids[0], { status: 'active' });
    expect(await turn(night + 1000)).toMatchObject({ did: 'nothing', window: null });
    expect(await turn(morning)).toMatchObject({ did: 'end', window, unpaused: 1, leftCount: 1 });
    expect(statuses()).toEqual(['active', 'active', 'paused']);
    expect(await turn(morning + 1000)).toMatchObject({ did: 'nothing' });
    expect(await turn(nextNight)).toMatchObject({ did: 'begin', window: '2026-01-06', paused: 2 });
    expect(monitors.records.get(other.id)?.status).toBe('active');
    expect(patches()).toBe(5);
  });

  it('take a monitor over whose pause got no answer, and unpause it at their end', async () => {
    const { monitors, memory, origin, ids, turn, statuses, patches } = await opened();
    // A worker ended while two pauses were in flight; only one of the two reached the service.
    const before = ids.map((id) => monitors.records.get(id)?.updatedAt ?? null);
    await memory.setMark(origin, 'nights', { window, state: 'beginning' });
    const intents = ids.slice(0, 2).map((id, index) => ({
      ...{
        id,
        name: null,
        window,
        state: 'pausing' as const,
        before: before[index] ?? null,
        after: null,
        keptBy: null,
      },
    }));
    await memory.remember(origin, 'nights', intents);
    monitors.change(ids[0], { status: 'paused' });
    expect(await turn(night)).toMatchObject({ did: 'begin', window, paused: 3 });
    expect(patches()).toBe(2);
    const after = (id: string) => monitors.records.get(id)?.updatedAt;
    expect(await memory.remembered(origin, 'nights')).toMatchObject(
      ids.map((id) => ({ id, state: 'paused', after: after(id) })),
    );
    expect(await memory.mark(origin, 'nights')).toEqual({ window, state: 'begun' });
    expect(await turn(morning)).toMatchObject({ did: 'end', unpaused: 3, leftCount: 0 });
    expect(statuses()).toEqual(['active', 'active', 'active']);
    expect(await memory.mark(origin, 'nights')).toEqual({ window, state: 'ended' });
  });

  it('whose end was missed count only the monitors of the new night, and unpause all at its end', async () => {
    const { monitors, turn, statuses } = await opened();
    await turn(night);
    const added = monitors.add({ name: 'daily, new' });
    expect(await turn(nextNight)).toMatchObject({ did: 'begin', window: '2026-01-06', paused: 1 });
    expect(added.status).toBe('paused');
    expect(await turn(at(7, 8))).toMatchObject({ did: 'end', unpaused: 4, leftCount: 0 });
    expect([...statuses(), added.status]).toEqual(['active', 'active', 'active', 'active']);
  });

  it('forget a monitor that is deleted just before its pause', async () => {
    const { service, monitors, memory, origin, ids, turn } = await opened();
    service.meanwhile = (_call, method, path) => {
      if (method === 'PATCH' && path.endsWith(ids[0])) monitors.records.delete(ids[0]);
    };
    expect(await turn(night)).toMatchObject({ did: 'begin', paused: 2 });
    expect((await memory.remembered(origin, 'nights')).map(({ id }) => id)).toEqual(ids.slice(1));
  });

  it('write each change down before they make it', async () => {
    const { service, memory, turn } = await opened(1);
    const order: string[] = [];
    const { remember } = memory;
    memory.remember = async (origin, name, monitors) => {
      order.push(...monitors.map(({ state }) => state));
      await remember(origin, name, monitors);
    };
    service.meanwhile = (_call, method) => {
      if (method === 'PATCH') order.push(method);
    };
    await turn(night);
    await turn(morning);
    expect(order).toEqual(['pausing', 'PATCH', 'paused', 'unpausing', 'PATCH']);
  });

  it('know the time of a pause whose answer got lost before they unpause', async () => {
    const { monitors, memory, origin, ids, turn } = await opened(1);
    await memory.setMark(origin, 'nights', { window, state: 'begun' });
    const known = {
      id: ids[0],
      name: null,
      window,
      state: 'pausing',
      before: 'earlier',
      after: null,
      keptBy: null,
    } as const;
    await memory.remember(origin, 'nights', [known]);
    monitors.change(ids[0], { status: 'paused' });
    const pausedAt = monitors.records.get(ids[0])?.updatedAt;
    const written: (string | null)[] = [];
    const { remember } = memory;
    memory.remember = async (of, name, all) => {
      written.push(...all.map(({ after }) => after));
      await remember(of, name, all);
    };
    expect(await turn(morning)).toMatchObject({ did: 'end', unpaused: 1 });
    // The time of our own pause is remembered. Otherwise, after an interrupted end, the pause would look like a change by another client.
    expect(written).toEqual([pausedAt]);
  });

  it('that are cancelled send no further change, and continue in the next turn', async () => {
    const { service, memory, origin, turn, cancelled, patches } = await opened(30);
    await expect(cancelled(night)).rejects.toThrow();
    expect(patches()).toBeLessThanOrEqual(5);
    expect(await memory.mark(origin, 'nights')).toEqual({ window, state: 'beginning' });
    service.meanwhile = () => undefined;
    expect(await turn(night)).toMatchObject({ did: 'begin', paused: 30 });
    expect(await turn(morning)).toMatchObject({ did: 'end', unpaused: 30 });
  });

  it('that overlap leave a monitor paused that a person paused, too, whichever of them end last', async () => {
    const { memory, origin, ids, turn, statuses } = await opened();
    await turn(night);
    const [one] = (await memory.remembered(origin, 'nights')).filter(({ id }) => id === ids[0]);
    await memory.remember(origin, 'nights', [{ ...(one as NonNullable<typeof one>), keptBy: 'Ann' }]);
    await turn(night, 'holidays');
    await turn(morning);
    expect(await turn(morning, 'holidays')).toMatchObject({
      unpaused: 2,
      left: [{ id: ids[0], what: 'Ann paused it, too' }],
    });
    expect(statuses()).toEqual(['paused', 'active', 'active']);
  });

  it('that overlap keep a monitor paused until the last of them end', async () => {
    const { turn, statuses } = await opened();
    await turn(night);
    expect(await turn(night, 'holidays')).toMatchObject({ did: 'begin', paused: 3 });
    expect(await turn(morning)).toMatchObject({
      ...{ did: 'end', unpaused: 0, leftCount: 3 },
      left: [{ what: 'quiet hours holidays still apply' }, {}, {}],
    });
    expect(statuses()).toEqual(['paused', 'paused', 'paused']);
    expect(await turn(morning, 'holidays')).toMatchObject({ did: 'end', unpaused: 3 });
    expect(statuses()).toEqual(['active', 'active', 'active']);
  });

  it('that are removed unpause their monitors, forget their hours, and leave a monitor that another client changed', async () => {
    const { monitors, memory, origin, ids, turn, statuses } = await opened();
    await turn(night);
    monitors.change(ids[0], { name: 'daily, renamed' });
    monitors.records.delete(ids[1]);
    const reported: string[] = [];
    const { report } = memory;
    memory.report = async (of, name, time, lines) => {
      reported.push(...lines.map(({ what }) => what));
      await report(of, name, time, lines);
    };
    const ended = await turn(night, 'nights', { restore: true });
    expect(reported.toSorted()).toEqual(['another client changed it', 'it was deleted']);
    expect(ended).toMatchObject({ did: 'end', unpaused: 1, leftCount: 2 });
    expect(statuses()).toEqual(['paused', undefined, 'active']);
    expect(await memory.mark(origin, 'nights')).toBeNull();
    expect(await memory.remembered(origin, 'nights')).toEqual([]);
    // The marks are removed, so quiet hours of the same date can begin again.
    expect(await turn(night)).toMatchObject({ did: 'begin', paused: 1 });
  });
});
