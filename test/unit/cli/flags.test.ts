import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toAgentRequest } from '../../../src/cli/agents.js';
import { toFilter } from '../../../src/cli/monitors.js';
import { toSandboxOptions } from '../../../src/cli/set-up/sandbox.js';
import { freshnessOf } from '../../../src/core/purchase/freshness.js';
import { parseFault, startSandbox } from '../../../src/sandbox/index.js';
import { agentRunId, EventControl, startAgentRun } from '../../../src/worker/control/event-control.js';
import { MonitorControl } from '../../../src/worker/control/monitor-control.js';
import { findWalk } from '../../../src/worker/runtime/job-lists.js';
import { findJob } from '../../../src/worker/staging/find-job.js';
import { request } from '../../support/cli/fake-runtime.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
writeFileSync(join(cwd, 'schema.json'), '{"type":"object"}');
writeFileSync(join(cwd, 'request.json'), '{"query":"why","systemPrompt":"be brief"}');

describe('flags of an agent run', () => {
  const read = (query: string | undefined, typed: object) => {
    const { value, mistakes } = useFlags('agent run', typed, (flags) => toAgentRequest(query, flags), { cwd });
    return { ...value, mistakes };
  };

  it('make the request and its settings', () => {
    const flags = { schema: 'schema.json', effort: 'low', previous: 'run-1', option: ['metadata={"a":1}'] };
    const manner = { maxCost: '1.5', maxDuration: '20m', rebuy: true, deleteAfter: true };
    expect(read('why', { ...flags, ...manner })).toEqual({
      request: {
        query: 'why',
        outputSchema: { type: 'object' },
        effort: 'low',
        previousRunId: 'run-1',
        metadata: { a: 1 },
      },
      options: { maxCostDollars: 1.5, maxDurationSeconds: 1200, refreshAfterMs: 0, deleteAfter: true },
      mistakes: [],
    });
    expect(read(undefined, { request: 'request.json' })).toEqual({
      ...{ request: { query: 'why', systemPrompt: 'be brief' }, options: {}, mistakes: [] },
    });
  });
});

describe('flags of monitors', () => {
  const filter = (typed: object) => {
    const { value, mistakes } = useFlags('monitors list', typed, toFilter);
    return [value, mistakes];
  };

  it('make a filter', () => {
    const metadata = ['team=a=b', 'owner='];
    expect(filter({ name: 'news', status: 'active', metadata })).toEqual([
      { name: 'news', status: 'active', metadata: { team: 'a=b', owner: '' } },
      [],
    ]);
    expect(filter({})).toEqual([{}, []]);
    expect(filter({ metadata: ['=x'] })[1]).toEqual([expect.stringContaining("'=x' must be key=value")]);
    expect(filter({ metadata: ['a=1', 'a=2'] })[1]).toEqual(["--metadata: key 'a' is given twice."]);
    expect(filter({ name: '' })[1]).toEqual(['--name must have 1 to 250 characters.']);
  });

  it('have a limit of 500 monitors per call', () => {
    const read = (limit: string) => useFlags('monitors pause', { limit }, (flags) => flags.limit).value;
    expect(['1', '500', '501', '0', '1.5', 'x'].map(read)).toEqual([1, 500, null, null, null, null]);
  });
});

it.each([
  [{}, undefined],
  [{ refreshAfterMs: 1000 }, { freshAfter: 9000 }],
  [{ rebuy: true }, { rebuyBefore: 10_000 }],
  [
    { retryFailed: true },
    { retryTags: expect.arrayContaining(['CRAWL_TIMEOUT', 'RESPONSE_SHAPE']), retryBefore: 10_000 },
  ],
])('the freshness flags of a job with %j', (changes, freshness) => {
  expect(freshnessOf({ ...request, ...changes }, 10_000)).toEqual(freshness);
});

describe('a job or walk by its name', () => {
  const job = (id: string, name: string) => ({ staged: { job: id, name } });
  const among = (jobs: readonly object[]) =>
    ({ get: async () => null, all: async () => jobs }) as unknown as Parameters<typeof findJob>[0];
  const [one, two, other] = [job('brands-1', 'brands'), job('brands-2', 'brands'), job('x-1', 'x')];

  it('is found by its id, or by a name that no other one has', async () => {
    expect(await findJob(among([one, two, other]), 'brands-2')).toBe(two);
    expect(await findJob(among([one, two, other]), 'x')).toBe(other);
    await expect(findJob(among([one, two, other]), 'brands')).rejects.toThrow(
      'brands matches several jobs: brands-1, brands-2. Give one of these ids',
    );
    await expect(findJob(among([one]), 'y')).rejects.toThrow('There is no job y here. Jobs: brands-1');
    await expect(findJob(among([]), 'y')).rejects.toThrow(/^There is no job y here$/);
  });

  it('of events is found in the same way', () => {
    const walk = (id: string, stream: string) => ({ job: id, workflowId: `w-${id}`, stream, origin: 'o', into: 'i' });
    const walks = [walk('a', 'sync'), walk('b', 'backfill x..'), walk('c', 'backfill y..')];
    expect(['a', 'w-b', 'events-sync', 'events-verify'].map((name) => findWalk(walks, name)?.job ?? null)).toEqual([
      ...['a', 'b', 'a', null],
    ]);
    expect(() => findWalk(walks, 'events-backfill')).toThrow(
      'events-backfill matches several walks: b (backfill x.. of o into i), c (backfill y.. of o into i)',
    );
  });
});

describe('flags of the sandbox', () => {
  it('become its options', () => {
    const typed = {
      ...{ port: '4010', qps: '7.5', latencyMs: '100-400', errorRate: '0.1', retryAfterSeconds: '3', seed: '42' },
      ...{ credits: '5', textBytes: '200', agentRunMs: '20', monitorClock: '60', events: '30', eventsPerSecond: '2' },
    };
    const others = { retryAfter: 'seconds', ledger: 'ledger.jsonl', key: ['a', 'b'], x402: true } as const;
    const fault = 'every=20 kind=status status=503';
    const set = ['agentRuns.failureRate=0.5', 'name=text'];
    expect(toSandboxOptions({ ...typed, ...others, fault: [fault], set }, parseFault)).toEqual({
      ...{ port: 4010, qps: 7.5, latencyMs: { min: 100, max: 400 }, failureRate: 0.1, retryAfterSeconds: 3, seed: 42 },
      ...{ credits: 5, textBytes: 200, agentRuns: { durationMs: 20, failureRate: 0.5 }, monitorClock: 60 },
      ...{ events: { count: 30, arrivingPerSecond: 2 }, retryAfter: 'seconds', ledgerFile: 'ledger.jsonl' },
      ...{ keys: ['a', 'b'], x402: true, faults: [parseFault(fault)], name: 'text' },
    });
    expect(toSandboxOptions({}, parseFault)).toEqual({ faults: [] });
  });

  it('give other pages with another seed, and the same with the same', async () => {
    const page = async (seed: string) => {
      const running = await startSandbox(toSandboxOptions({ seed, errorRate: '0' }, parseFault));
      onTestFinished(() => running.close());
      const body = JSON.stringify({ urls: ['https://site.example/'], text: true });
      const headers = { 'content-type': 'application/json', 'x-api-key': 'key' };
      const answer = await fetch(`${running.url}/contents`, { method: 'POST', headers, body });
      return ((await answer.json()) as { results: { text: string }[] }).results[0]?.text;
    };
    const [one, other, again] = [await page('1'), await page('2'), await page('1')];
    expect(one).toEqual(expect.any(String));
    expect(other).not.toBe(one);
    expect(again).toBe(one);
  });
});

it.each([
  ['sync', 'syncEvents', {}],
  ['backfill 2026-11-01T00:00:00.000Z..', 'backfillEvents', { from: '2026-11-01T00:00:00.000Z' }],
])(
  'a walk that is resumed has the stream, warehouse, service and host of its start: %s',
  async (stream, workflow, range) => {
    const started: unknown[] = [];
    const client = {
      workflow: {
        getHandle: () => ({}),
        start: async (name: string, { workflowId, taskQueue, args }: Record<string, unknown>) =>
          void started.push([name, workflowId, taskQueue, args]),
      },
    };
    const access = {
      client,
      config: { taskQueue: 'rows', origin: 'elsewhere' },
      shared: true,
      allow: async () => undefined,
    };
    const control = new EventControl(access as unknown as ConstructorParameters<typeof EventControl>[0], cwd);
    const walk = { job: 'events-1', workflowId: 'w-1', stream, origin: 'sandbox', into: '/data/events.duckdb' };
    await control.resume({ ...walk, host: 'a' });
    const input = { ...range, into: '/data/events.duckdb', origin: 'sandbox' };
    expect(started.splice(0)).toEqual([[workflow, 'w-1', 'rows', [{ ...input, host: 'a' }]]]);
    await control.resume(walk);
    expect(started).toEqual([[workflow, 'w-1', 'rows', [input]]]);
  },
);

describe('the workflow id of the work of a command', () => {
  type Access = ConstructorParameters<typeof MonitorControl>[0];
  const at = (origin: string) => ({ config: { origin, stateDir: cwd }, shared: false }) as unknown as Access;
  const [here, there] = [at('sandbox'), at('https://service.example')];
  const into = '/data/a.duckdb';
  const distinct = (ids: readonly string[]) => new Set(ids).size;

  it('of a walk is another one for another stream, warehouse, machine and service', () => {
    const id = (access: Access, walk: object) =>
      new EventControl(access, cwd).work({ kind: 'sync', into, ...walk }).workflowId;
    const ids = [id(here, {}), id(there, {}), id(here, { into: '/data/b.duckdb' }), id(here, { host: 'a' })];
    const from = '2026-11-01T00:00:00.000Z';
    expect(
      distinct([...ids, id(here, { kind: 'backfill', from }), id(here, { kind: 'backfill', from, verify: true })]),
    ).toBe(6);
    expect(id(here, {})).toBe(ids[0]);
  });

  it('of a batch is another one for another action, filter, warehouse and service', () => {
    const id = (access: Access, batch: object) =>
      new MonitorControl(access, cwd).batchWork({ action: 'pause', filter: { name: 'a' }, into, ...batch }).workflowId;
    const changes = [{}, { action: 'delete' }, { filter: { name: 'b' } }, { into: '/data/b.duckdb' }];
    expect(distinct([...changes.map((one) => id(here, one)), id(there, {})])).toBe(5);
    expect(id(here, { limit: 5, by: 'me' })).toBe(id(here, {}));
  });

  it('of an export is another one for another filter, warehouse and service', () => {
    const id = (access: Access, one: object) => {
      const { name, work } = new MonitorControl(access, cwd).exportWork({ into, ...one });
      expect([work.input.origin, work.workflowId.endsWith(name)]).toEqual([access.config.origin, true]);
      return work.workflowId;
    };
    const ids = [{}, { filter: { name: 'a' } }, { into: '/data/b.duckdb' }].map((one) => id(here, one));
    expect(distinct([...ids, id(there, {})])).toBe(4);
  });

  it('of an agent run is another one for another request, header and service; an equal one is joined', async () => {
    const started: unknown[] = [];
    const workflow = {
      getHandle: () => ({}),
      start: async (name: string, how: Record<string, unknown>) => void started.push([name, how]),
    };
    const access = { client: { workflow }, config: { origin: 'sandbox', taskQueue: 'rows' } } as unknown as Access;
    const asked = { query: 'why', effort: 'low' } as const;
    const id = (request: object, options: object = {}, origin = 'sandbox') =>
      agentRunId({ origin }, { ...asked, ...request }, options);
    const ids = [
      id({}),
      id({ query: 'how' }),
      id({}, { beta: 'b' }),
      id({}, { extraHeaders: { a: 'b' } }),
      id({}, {}, 'x'),
    ];
    expect(distinct(ids)).toBe(5);
    expect(id({}, { maxCostDollars: 1 })).toBe(ids[0]);
    const options = { maxCostDollars: 1 };
    const { workflowId } = await startAgentRun(access, asked, options);
    expect(workflowId).toBe(ids[0]);
    const joins = { args: [asked, options], workflowIdConflictPolicy: 'USE_EXISTING', taskQueue: 'rows' };
    expect(started).toEqual([['runAgent', expect.objectContaining({ workflowId, ...joins })]]);
  });
});
