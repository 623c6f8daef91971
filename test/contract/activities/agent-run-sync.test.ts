import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAgentRunSyncActivities } from '../../../src/activities/operations/agent-run-sync.js';
import type { AgentRunSyncState } from '../../../src/core/agent-run-sync.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { type Service, startService } from '../../service/service.mjs';
import { ActivitySetting, attempt } from '../../support/activities/activity-setting.js';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder } from '../../support/jobs/folder.js';
import { sharedPostgres } from '../../support/postgres.js';
import { listen } from '../../support/sandbox/listen.js';
import { pgResult } from '../../support/warehouse/pg-query.js';
import { queryDuckDb } from '../../support/warehouse/warehouses-under-test.js';

const MINUTE = 60_000;

/** Adds a run to the service: created so many minutes ago, and still running or over. */
function addRun(service: Service, number: number, minutesAgo: number, isOver = true): string {
  const id = `agent_run_${String(number).padStart(6, '0')}`;
  const now = performance.now();
  const run = {
    ...{ id, request: { query: `Who leads company ${number}?`, effort: 'low', metadata: { team: 'growth' } } },
    ...{ startedAt: now - 1000, wallAt: Date.now() - minutesAgo * MINUTE, endsAt: isOver ? now - 500 : now + 1e9 },
    ...{ status: 'completed', stopReason: null, reads: 0, seenOverAt: null },
  };
  service.agents.runs.set(id, run);
  return id;
}

const databases = {
  'a DuckDB file': async (folder: Folder) => ({
    address: folder.into,
    query: (sql: string) => queryDuckDb(folder.into, sql),
  }),
  PostgreSQL: async () => {
    const address = await sharedPostgres().database('agents');
    return { address, query: (sql: string) => pgResult(address, sql) };
  },
};

/** A service with runs, and syncs of these runs into a warehouse. */
async function open(place: keyof typeof databases, otherUrl?: string) {
  const [service, setting, folder] = [await startService(), await ActivitySetting.open(), new Folder()];
  const { address, query } = await databases[place](folder);
  const warehouse = createWarehouses().open(address);
  closeAfterTest(folder, service, setting, warehouse);
  const url = otherUrl ?? service.url;
  const worker = setting.worker({ baseUrl: url }, url);
  const deps = { ...worker, agentRuns: { warehouse: async () => warehouse.agentRuns } };
  const { syncRunSlice } = createAgentRunSyncActivities(deps);
  let syncs = 0;
  const sync = async (state: AgentRunSyncState | null = null) => {
    const { state: counts, end } = await attempt(syncRunSlice, { into: address, mark: `sync-${++syncs}`, state });
    return { ...counts, ...end };
  };
  const rows = async (sql: string) => {
    await warehouse.close();
    return (await query(sql)).rows.map((row) => [...row]);
  };
  const reads = (path: RegExp) => service.log.filter(({ path: one }) => path.test(one)).length;
  return { service, sync, rows, reads };
}

describe.each(Object.keys(databases) as (keyof typeof databases)[])('a sync of agent runs into %s', (place) => {
  it('loads all runs of the team once, with their requests, outputs, usage and cost', async () => {
    const { service, sync, rows } = await open(place);
    for (let number = 1; number <= 230; number++) addRun(service, number, 600 - number);
    expect(await sync()).toMatchObject({ pages: 3, runs: 230, added: 230, changed: 0, gone: 0, unfinished: 0 });
    expect(await rows('SELECT count(*), count(DISTINCT id), sum(cost_micros), min(is_over) FROM agent_runs')).toEqual([
      [230, 230, 230 * 250_000, 1].map((value) => expect.toSatisfy((found) => Number(found) === value)),
    ]);
    const [first] = await rows(
      `SELECT id, status, stop_reason, query, effort, output_text, agent_compute_units, searches FROM agent_runs ORDER BY id LIMIT 1`,
    );
    expect(first).toEqual([
      ...['agent_run_000001', 'completed', 'schema_satisfied', 'Who leads company 1?', 'low'],
      ...['of Who leads company 1?', 1, 2],
    ]);
    expect(await sync()).toMatchObject({ pages: 1, added: 0, changed: 0 });
  });

  it('reads only the runs since its watermark again, and each loaded run until it has ended', async () => {
    const { service, sync, rows, reads } = await open(place);
    for (let number = 1; number <= 110; number++) addRun(service, number, 5000 - number, number !== 1);
    expect(await sync()).toMatchObject({ added: 110, unfinished: 1, watermark: expect.any(Number) });
    for (let number = 111; number <= 113; number++) addRun(service, number, 0, number !== 112);
    const before = [reads(/runs$/), reads(/agent_run_000001$/)];
    expect(await sync()).toMatchObject({ pages: 1, added: 3, changed: 0, unfinished: 2 });
    expect([reads(/runs$/), reads(/agent_run_000001$/)]).toEqual(before.map((number) => (number as number) + 1));
    for (const id of ['agent_run_000001', 'agent_run_000112'])
      Object.assign(service.agents.runs.get(id) as object, { endsAt: performance.now() - 1 });
    expect(await sync()).toMatchObject({ added: 0, changed: 2, unfinished: 0 });
    expect(await sync()).toMatchObject({ added: 0, changed: 0, unfinished: 0 });
    expect(reads(/agent_run_000001$/)).toBe((before[1] as number) + 2);
    expect(
      await rows("SELECT count(*) FROM agent_runs WHERE status = 'completed' AND output_text IS NOT NULL"),
    ).toEqual([[expect.toSatisfy((found) => Number(found) === 113)]]);
  });

  it('keeps a run that the service no longer returns, with the time, and reads it no more', async () => {
    const { service, sync, rows, reads } = await open(place);
    const id = addRun(service, 1, 5000, false);
    expect(await sync()).toMatchObject({ added: 1, unfinished: 1 });
    service.agents.runs.delete(id);
    addRun(service, 2, 0);
    expect(await sync()).toMatchObject({ added: 1, gone: 1, unfinished: 0 });
    const asked = reads(/agent_run_000001$/);
    expect(await sync()).toMatchObject({ gone: 0 });
    expect(reads(/agent_run_000001$/)).toBe(asked);
    expect(await rows('SELECT id, gone_at IS NOT NULL FROM agent_runs ORDER BY id')).toEqual([
      ['agent_run_000001', true],
      ['agent_run_000002', false],
    ]);
  });

  it('begins the list again if the service no longer accepts a cursor, and loads each run once', async () => {
    const { service, sync, rows } = await open(place);
    for (let number = 1; number <= 250; number++) addRun(service, number, 600 - number);
    let lists = 0;
    service.faultOf = (_call, method, path) =>
      method === 'GET' && path === '/agent/runs' && ++lists === 2 ? 400 : 'ok';
    expect(await sync()).toMatchObject({ restarts: 1, unfinished: 0, added: 250 });
    expect(await rows('SELECT count(*), count(DISTINCT id) FROM agent_runs')).toEqual([
      [250, 250].map((value) => expect.toSatisfy((found) => Number(found) === value)),
    ]);
  });
});

it('a sync fails at once, and is not tried again, if the service repeats a cursor', async () => {
  let lists = 0;
  const repeating = createServer((_request, response) => {
    lists++;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: [], hasMore: true, nextCursor: 'SAME' }));
  });
  const url = await listen(repeating);
  onTestFinished(() => void repeating.close());
  const { sync } = await open('a DuckDB file', url);
  await expect(sync()).rejects.toMatchObject({ nonRetryable: true, type: 'WalkError' });
  expect(lists).toBeLessThan(20);
});
