import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { folderOfTest } from '../../support/files/folders.js';
import { get, post, send } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';

let folder: string;
let options: Partial<SandboxOptions>;
beforeEach(() => {
  folder = folderOfTest();
  options = {
    ledgerFile: join(folder, 'ledger.jsonl'),
    agentRuns: { durationMs: 2000 },
    research: { durationMs: 0 },
    monitors: { durationMs: 0 },
    events: { count: 100, arrivingPerSecond: 50 },
  };
});

test('runs, tasks, monitors and events survive a restart; those that ended meanwhile are charged once', async () => {
  const first = await startSandbox(options);
  const run = (await post(first, '/agent/runs', { query: 'q', effort: 'low' })).json;
  const gone = (await post(first, '/agent/runs', { query: 'gone' })).json;
  await send(first, 'DELETE', `/agent/runs/${gone.id}`);
  const stopped = (await post(first, '/agent/runs', { query: 'stopped', effort: 'ultra' })).json;
  const atStop = (await send(first, 'POST', `/agent/runs/${stopped.id}/stop`)).json;
  const task = (await post(first, '/research/tasks', { input: { instructions: 'a' } })).json;
  const webhook = { url: 'https://hooks.example/' };
  const monitor = (await post(first, '/monitors', { search: { query: 'm' }, webhook })).json;
  const other = (await post(first, '/monitors', { search: { query: 'm' }, webhook })).json;
  await send(first, 'DELETE', `/monitors/${other.id}`);
  await send(first, 'PATCH', `/monitors/${monitor.id}`, { name: 'changed' });
  await send(first, 'POST', `/monitors/${monitor.id}/trigger`);
  const [event] = first.trigger({ event: 'import.completed' });
  const events = (await get(first, `/websets/v0/events/${event}`)).json;
  const before = first.bill();
  await first.close();

  const second = await startSandbox(options);
  const runNow = async () => (await get(second, `/agent/runs/${run.id}`)).json;
  await eventually(async () => (await runNow()).status).toBe('completed');
  expect((await get(second, `/agent/runs/${stopped.id}`)).json).toEqual(atStop);
  expect((await get(second, `/agent/runs/${gone.id}`)).status).toBe(404);
  expect((await get(second, `/research/tasks/${task.id}`)).json.status).toBe('completed');
  const { webhookSecret: _, ...record } = monitor;
  expect((await get(second, `/monitors/${monitor.id}`)).json).toMatchObject({
    ...record,
    name: 'changed',
    updatedAt: expect.any(String),
  });
  expect((await get(second, '/monitors')).json.data).toHaveLength(1);
  expect((await get(second, `/monitors/${monitor.id}/runs`)).json.data).toMatchObject([{ status: 'completed' }]);
  expect((await get(second, `/websets/v0/events/${event}`)).json).toEqual(events);
  expect(second.bill().dollars).toBeCloseTo(before.dollars + 0.025, 6);
  expect(second.bill().requests).toBe(before.requests);
  expect((await post(second, '/agent/runs', { query: 'new' })).json.id).not.toBe(gone.id);
  const list = (await get(second, '/agent/runs?limit=1')).json;
  expect(list.data[0].request.query).toBe('new');
  await second.close();

  const third = await startSandbox(options);
  expect(third.bill().dollars).toBeGreaterThanOrEqual(before.dollars + 0.025 - 1e-9);
  expect(third.state().agentRuns.byStatus).toMatchObject({ completed: expect.any(Number) });
  third.reset();
  expect(third.state()).toMatchObject({
    agentRuns: { byStatus: {} },
    monitors: { byStatus: {} },
    events: { triggered: 0 },
  });
  await third.close();
  const fourth = await startSandbox(options);
  expect((await get(fourth, '/monitors')).json.data).toEqual([]);
  await fourth.close();
});
