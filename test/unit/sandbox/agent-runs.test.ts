import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { get, send } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';
import { readStream } from '../../support/sandbox/stream.js';

let sandbox: Sandbox;
const start = async (agentRuns: SandboxOptions['agentRuns'] = {}, more: Partial<SandboxOptions> = {}) => {
  sandbox = await startSandbox({ agentRuns: { durationMs: 40, budgetRate: 0, ...agentRuns }, ...more });
};
afterEach(() => sandbox.close());

const create = (body: object = { query: 'q' }, headers = {}) => send(sandbox, 'POST', '/agent/runs', body, headers);
const run = async (id: string) => (await get(sandbox, `/agent/runs/${id}`)).json;
const finished = async (id: string) => {
  await eventually(async () => (await run(id)).completedAt).not.toBeNull();
  return run(id);
};

test('a run starts with no usage, and ends with output, usage and a cost that is billed once', async () => {
  await start({ durationMs: 400 });
  const { status, json } = await create({ query: 'q', effort: 'medium', metadata: { row: '7' }, odd: null });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    object: 'agent_run',
    status: 'running',
    stopReason: null,
    completedAt: null,
    request: { query: 'q', effort: 'medium', metadata: { row: '7' }, odd: null },
    output: { text: '', structured: null, grounding: [] },
    usage: { agentComputeUnits: 0, searches: 0, emails: 0, phoneNumbers: 0 },
    costDollars: { total: 0, agentCompute: 0, search: 0, emails: 0, phoneNumbers: 0 },
  });
  expect(sandbox.bill()).toMatchObject({ requests: 1, dollars: 0 });
  const done = await finished(json.id);
  expect(done).toMatchObject({ status: 'completed', stopReason: 'schema_satisfied', costDollars: { total: 0.1 } });
  expect(done.output.text).not.toBe('');
  expect(done.output.grounding[0].citations[0].url).toMatch(/^https:/);
  const bill = sandbox.bill();
  expect([bill.requests, bill.dollars, Object.values(bill.keys)]).toEqual([1, 0.1, [1]]);
  expect(await run(json.id)).toEqual(done);
});

test('structured output fits the schema, with a row for each row of the input and its values', async () => {
  await start();
  const item = {
    type: 'object',
    required: ['name', 'email', 'founded'],
    properties: {
      name: { type: 'string' },
      email: { type: 'string', format: 'email' },
      founded: { type: 'integer', minimum: 1800, maximum: 2024 },
    },
  };
  const outputSchema = { type: 'object', required: ['rows'], properties: { rows: { type: 'array', items: item } } };
  const data = [{ name: 'one' }, { name: 'two' }, { name: 'three' }, { name: 'four' }];
  const { json } = await create({ query: 'q', outputSchema, input: { data } });
  const { output, usage, costDollars } = await finished(json.id);
  z.fromJSONSchema(outputSchema as never).parse(output.structured);
  expect(output.structured.rows.map((one: { name: string }) => one.name)).toEqual(['one', 'two', 'three', 'four']);
  expect(output.grounding[0].field).toBe('structured.rows[0].name');
  expect(usage.emails).toBeGreaterThan(0);
  const { total, ...parts } = costDollars as Record<string, number>;
  expect(Object.values(parts).reduce((sum, one) => sum + one, 0)).toBeCloseTo(total as number, 9);
});

test('a run is queued for the configured time; its stream has every event once, and the stored events are the same', async () => {
  await start({ queuedMs: 300, durationMs: 200, progressEvents: 2, keepAliveMs: 20 });
  const streamed = await readStream(sandbox, '/agent/runs', { body: { query: 'q' } });
  expect(streamed.events.map(({ event }) => event)).toEqual([
    'agent_run.created',
    'agent_run.started',
    'agent_run.source.added',
    'agent_run.search_trace',
    'agent_run.completed',
  ]);
  expect(streamed.events.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
  expect(streamed.bytes.toString()).toContain(': keep-alive\n\n');
  const [first, last] = [streamed.events[0], streamed.events.at(-1)].map((one) => JSON.parse(one?.data as string));
  expect(first).toMatchObject({ status: 'queued', createdAt: expect.any(String) });
  expect(last).toEqual(await run(first.id));
  const path = `/agent/runs/${first.id}/events`;
  expect((await readStream(sandbox, path)).events).toEqual(streamed.events);
  const later = await readStream(sandbox, path, { headers: { 'last-event-id': '3' } });
  expect(later.events.map(({ id }) => id)).toEqual(['4', '5']);
  const page = (await get(sandbox, `${path}?limit=3`)).json;
  expect(page).toMatchObject({ object: 'list', hasMore: true, nextCursor: '3' });
  const rest = (await get(sandbox, `${path}?limit=3&cursor=${page.nextCursor}`)).json;
  expect([...page.data, ...rest.data].map(({ id }: { id: string }) => id)).toEqual(['1', '2', '3', '4', '5']);
  expect(rest).toMatchObject({ hasMore: false, nextCursor: null });
});

test('a replay may be refused, or may forget the last id', async () => {
  await start({ replay: 'refuse', durationMs: 0, progressEvents: 0 });
  const headers = { 'last-event-id': '1' };
  const path = async () => `/agent/runs/${(await create()).json.id}/events`;
  const refused = await get(sandbox, await path(), { accept: 'text/event-stream', ...headers });
  expect([refused.status, refused.json.error.code]).toEqual([400, 'INVALID_REQUEST']);
  await sandbox.close();
  await start({ replay: 'forget', durationMs: 0, progressEvents: 0 });
  expect((await readStream(sandbox, await path(), { headers })).events).toHaveLength(3);
});

test('a cancelled run has no output and costs its usage; a second cancel changes nothing', async () => {
  await start({ durationMs: 60_000, progressEvents: 0 });
  const { json } = await create({ query: 'q', effort: 'xhigh' });
  const stream = readStream(sandbox, '/agent/runs', { body: { query: 'other' } });
  await eventually(() => sandbox.state().agentRuns.inProgress).toBe(2);
  const cancel = () => send(sandbox, 'POST', `/agent/runs/${json.id}/cancel`);
  const cancelled = (await cancel()).json;
  expect(cancelled).toMatchObject({
    status: 'cancelled',
    stopReason: 'cancelled',
    output: { text: '', structured: null },
  });
  expect(cancelled.costDollars.total).toBeLessThan(1);
  expect((await cancel()).json).toEqual(cancelled);
  expect(sandbox.bill().dollars).toBe(cancelled.costDollars.total);
  const [other] = (await get(sandbox, '/agent/runs')).json.data;
  await send(sandbox, 'POST', `/agent/runs/${other.id}/cancel`);
  expect((await stream).events.at(-1)).toMatchObject({ event: 'agent_run.cancelled' });
  expect(sandbox.state().agentRuns).toMatchObject({ inProgress: 0, maxInProgress: 2, byStatus: { cancelled: 2 } });
});

test('fifty runs take all slots; the next one is refused until one ends', async () => {
  await start({ durationMs: 60_000 });
  const made = await Promise.all(Array.from({ length: 60 }, () => create()));
  const refused = made.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(10);
  expect(refused[0]?.json.error).toMatchObject({ type: 'RATE_LIMIT_ERROR', code: 'CONCURRENCY_LIMIT_REACHED' });
  expect(sandbox.bill().requests).toBe(50);
  const id = made.find(({ status }) => status === 200)?.json.id;
  expect((await send(sandbox, 'DELETE', `/agent/runs/${id}`)).json).toEqual({
    id,
    object: 'agent_run.deleted',
    deleted: true,
  });
  expect((await create()).status).toBe(200);
  expect((await create()).status).toBe(429);
  expect(sandbox.state().agentRuns).toMatchObject({ inProgress: 50, maxInProgress: 50 });
});

test('a declared share of runs fails, with a reason and the slot released; others end with an unknown status', async () => {
  await start({
    durationMs: 0,
    failureRate: 0.5,
    unknownStatusRate: 0.5,
    unknownStopReasonRate: 0.5,
    maxInProgress: 1,
  });
  const runs = [];
  for (let n = 0; n < 40; n += 1) runs.push(await run((await create()).json.id));
  const failed = runs.filter(({ status }) => status === 'failed');
  expect(failed.length).toBeGreaterThan(8);
  expect(failed[0]).toMatchObject({ stopReason: 'error', error: { code: 'SERVER_ERROR' }, output: { text: '' } });
  expect(runs.some(({ status, stopReason }) => status === 'archived' && stopReason === null)).toBe(true);
  expect(runs.some(({ status, stopReason }) => status === 'completed' && stopReason === 'evidence_exhausted')).toBe(
    true,
  );
  const total = runs.reduce((sum, { costDollars }) => sum + costDollars.total, 0);
  expect(sandbox.bill().dollars).toBeCloseTo(total, 6);
});

test.each([
  ['no query', {}, 'INVALID_REQUEST'],
  ['an unknown effort', { query: 'q', effort: 'heroic' }, 'INVALID_REQUEST'],
  ['max effort without its token', { query: 'q', effort: 'max' }, 'INVALID_REQUEST'],
  ['a budget with a fixed effort', { query: 'q', effort: 'low', budget: { maxCostDollars: 2 } }, 'INVALID_REQUEST'],
  ['a budget below a dollar', { query: 'q', budget: { maxCostDollars: 0.5 } }, 'INVALID_REQUEST'],
  ['a duration without ultra', { query: 'q', budget: { maxDurationSeconds: 300 } }, 'INVALID_REQUEST'],
  ['rows that are no objects', { query: 'q', input: { data: ['a'] } }, 'INVALID_REQUEST'],
  ['metadata that is no text', { query: 'q', metadata: { n: 1 } }, 'INVALID_REQUEST'],
  ['six data sources', { query: 'q', dataSources: Array(6).fill({ provider: 'fiber' }) }, 'INVALID_REQUEST'],
  ['an unknown provider', { query: 'q', dataSources: [{ provider: 'No Such' }] }, 'INVALID_DATA_SOURCE'],
  [
    'a schema that no value fits',
    { query: 'q', outputSchema: { type: 'array', minItems: 3, maxItems: 1 } },
    'INVALID_OUTPUT_SCHEMA',
  ],
  ['a schema without a type', { query: 'q', outputSchema: { type: 'thing' } }, 'INVALID_OUTPUT_SCHEMA'],
  ['an invalid previous run', { query: 'q', previousRunId: 'agent_run_0' }, 'PREVIOUS_RUN_NOT_FOUND'],
  ['a previous run of odd letters', { query: 'q', previousRunId: 'a b' }, 'INVALID_REQUEST'],
])('%s is a 400 in the agent envelope, and takes no slot', async (_, body, code) => {
  await start();
  const { status, json } = await create(body);
  expect([status, json.error.type, json.error.code]).toEqual([400, 'INVALID_REQUEST', code]);
  expect(sandbox.state().agentRuns.byStatus).toEqual({});
});
