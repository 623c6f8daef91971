import { expect, it } from 'vitest';
import { monitorWorkflows } from '../../../src/core/monitors/monitor-names.js';
import type { MonitorExport } from '../../../src/core/workflow-result-schemas.js';
import { byChance, type Fault, type StoredRun } from '../../service/service.mjs';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const time = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

function run(monitorId: string, number: number, status = 'completed'): StoredRun {
  const isDone = status === 'completed';
  const results = [1, 2].map((rank) => ({
    id: `p${rank}`,
    url: `https://site-${number}.example/${rank}`,
    title: `Page ${rank}`,
  }));
  return {
    ...{ id: `${monitorId}-run-${String(number).padStart(4, '0')}`, monitorId, status },
    output: isDone ? { results, content: `found in run ${number}`, grounding: null } : null,
    failReason: status === 'failed' ? 'rate_limited' : null,
    ...{ createdAt: time(number), startedAt: time(number), completedAt: isDone ? time(number + 1) : null },
  };
}

async function open(): Promise<MonitorSetting> {
  return MonitorSetting.open(temporal);
}

const doExport = async (setting: MonitorSetting, filter?: object): Promise<MonitorExport> =>
  (
    await setting.start<MonitorExport>(monitorWorkflows.exportMonitorRuns, {
      into: setting.folder.into,
      ...(filter ? { filter } : {}),
    })
  ).result();

it('an export that was interrupted in the middle of a monitor leaves no gap', async () => {
  const setting = await open();
  const { server } = setting;
  const { id } = server.monitors.add();
  server.monitors.runs.set(
    id,
    Array.from({ length: 250 }, (_, index) => run(id, index)),
  );
  // The second page of runs is unavailable during this export.
  server.faultOf = (_call, _method, path) =>
    path === `/monitors/${id}/runs` && server.log.filter((seen) => seen.path === path).length > 1 ? 503 : 'ok';
  const handle = await setting.start(monitorWorkflows.exportMonitorRuns, { into: setting.folder.into });
  await expect
    .poll(() => server.log.filter(({ path, fault }) => path === `/monitors/${id}/runs` && fault === 503).length, {
      timeout: 30_000,
    })
    .toBeGreaterThan(0);
  await handle.terminate();
  const begin = await setting.withoutHost();
  server.faultOf = () => 'ok';
  await begin();
  expect((await doExport(setting)).added).toBeGreaterThan(0);
  expect(await setting.query('SELECT CAST(count(*) AS INTEGER) AS n FROM monitor_runs')).toEqual([{ n: 250 }]);
});

it('lost, refused and broken answers lose no run, and a filter exports some of the monitors', async () => {
  const setting = await open();
  const { server } = setting;
  const faults: Fault[] = ['ok', 'ok', 429, 'ok', 500, 'lost', 'ok', 'ok', 'reset', 'ok', 503];
  server.faultOf = byChance(faults);
  for (let index = 0; index < 8; index++) {
    const { id } = server.monitors.add({ name: index % 2 === 0 ? 'daily' : 'weekly' });
    server.monitors.runs.set(
      id,
      Array.from({ length: 5 }, (_, number) => run(id, number)),
    );
  }
  expect(await doExport(setting, { name: 'DAILY' })).toMatchObject({ monitors: 4, read: 4, added: 20, results: 40 });
  expect(await doExport(setting)).toMatchObject({ monitors: 8, added: 20 });
});

it('an export of all monitors and one of some at once mark no monitor as gone', async () => {
  const setting = await open();
  const { server } = setting;
  for (let index = 0; index < 150; index++) server.monitors.add({ name: index % 5 === 0 ? 'daily' : 'weekly' });
  let filtered: Promise<MonitorExport> | null = null;
  server.meanwhile = (_call, _method, path) => {
    // A second export, of some monitors, runs between two pages of the export of all monitors.
    if (path === '/monitors') filtered ??= doExport(setting, { name: 'daily' });
  };
  expect(await doExport(setting)).toMatchObject({ monitors: 150 });
  expect(await filtered).toMatchObject({ monitors: 30 });
  expect(
    await setting.query('SELECT CAST(count(*) AS INTEGER) AS n, CAST(count(gone_at) AS INTEGER) AS gone FROM monitors'),
  ).toEqual([{ n: 150, gone: 0 }]);
});
