import { describe, expect, it } from 'vitest';
import { createMonitorExportActivities } from '../../../src/activities/monitors/monitor-export.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { startService } from '../../service/service.mjs';
import { monitorContract } from '../../suites/monitor-contract.js';
import { ActivitySetting, attempt } from '../../support/activities/activity-setting.js';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder } from '../../support/jobs/folder.js';
import { duckDbUnderTest } from '../../support/warehouse/warehouses-under-test.js';

describe('monitors in a DuckDB file', () => monitorContract(duckDbUnderTest));

/** A service, and the activities of a worker on a warehouse. */
async function world() {
  const [service, setting, folder] = [await startService(), await ActivitySetting.open(), new Folder()];
  const warehouse = createWarehouses().open(folder.into).monitors;
  closeAfterTest(folder, service, setting, warehouse);
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
