import { expect, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { get, post } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';
import { readStream } from '../../support/sandbox/stream.js';

const start = async (options = {}) => closeAfterTest(await startSandbox({ failureRate: 0, ...options }));

test('an answer has citations, a price, queue headers, and is the same each time', async () => {
  const sandbox = await start();
  const { status, headers, json } = await post(sandbox, '/answer', { query: 'why?', text: true });
  expect(status).toBe(200);
  expect(json).toMatchObject({ answer: expect.stringContaining('why?'), costDollars: { total: 0.005 } });
  expect(json.citations.length).toBeGreaterThan(2);
  expect(json.citations[0]).toMatchObject({
    id: expect.any(String),
    url: expect.any(String),
    text: expect.any(String),
  });
  expect(headers).toMatchObject({ 'x-svc-queued': 'false', 'x-request-id': json.requestId });
  expect((await post(sandbox, '/answer', { query: 'why?' })).json.answer).toBe(json.answer);
  expect(sandbox.bill()).toMatchObject({ dollars: 0.01, keys: { 'answer {"query":"why?","text":true}': 1 } });
});

test('a streamed answer has the same content in pieces, then citations, cost and [DONE]', async () => {
  const sandbox = await start();
  const { json } = await post(sandbox, '/answer', { query: 'wie groß?' });
  const { events, ended } = await readStream(sandbox, '/answer', { body: { query: 'wie groß?', stream: true } });
  expect([ended, events.at(-1)?.data]).toEqual(['whole', '[DONE]']);
  const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
  const text = chunks.map((one) => one.choices?.[0].delta.content ?? '').join('');
  expect(text).toBe(json.answer);
  expect(chunks.at(-2).citations).toEqual(json.citations);
  expect(chunks.at(-1)).toEqual({ costDollars: { total: 0.005 }, requestId: expect.any(String) });
  // The same question was sold twice under one key: once as a whole answer, once as a stream.
  expect(sandbox.bill().keys).toEqual({ 'answer {"query":"wie groß?"}': 2 });
});

test('a schema makes the answer an object, streamed as its JSON', async () => {
  const sandbox = await start();
  const outputSchema = { type: 'object', properties: { year: { type: 'integer' } }, required: ['year'] };
  const { json } = await post(sandbox, '/answer', { query: 'when?', outputSchema });
  expect(json.answer).toEqual({ year: expect.any(Number) });
  const { events } = await readStream(sandbox, '/answer', { body: { query: 'when?', outputSchema, stream: true } });
  const text = events.map(({ data }) => (data === '[DONE]' ? '' : (JSON.parse(data).choices?.[0].delta.content ?? '')));
  expect(JSON.parse(text.join(''))).toEqual(json.answer);
});

test('a research task runs to its end, is in the list, and is billed', async () => {
  const sandbox = await start({ research: { durationMs: 30 } });
  const schema = { type: 'object', required: ['total'], properties: { total: { type: 'number' } } };
  const contract = await post(sandbox, '/research/tasks', { input: { instructions: 'a' }, output: { schema } });
  for (const instructions of ['b', 'c'])
    expect((await post(sandbox, '/research/tasks', { input: { instructions } })).status).toBe(200);
  expect(contract.status).toBe(200);
  expect(contract.json).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
  });
  const path = `/research/tasks/${contract.json.id}`;
  await eventually(async () => (await get(sandbox, path)).json.status).toBe('completed');
  const { json } = await get(sandbox, path);
  expect(json).toMatchObject({ instructions: 'a', schema, data: { total: expect.any(Number) } });
  expect(json.citations.total[0]).toMatchObject({ url: expect.any(String), snippet: expect.any(String) });
  const page = (await get(sandbox, '/research/tasks?limit=2')).json;
  expect(page).toMatchObject({ hasMore: true, data: [{ instructions: 'c' }, { instructions: 'b' }] });
  expect((await get(sandbox, `/research/tasks?cursor=${page.nextCursor}`)).json.data).toMatchObject([
    { instructions: 'a' },
  ]);
  await eventually(() => sandbox.state().research.inProgress).toBe(0);
  expect(sandbox.bill()).toMatchObject({ requests: 3, units: 3 });
  expect(sandbox.bill().dollars).toBeGreaterThan(0.1);
  const wrong = [{ instructions: 'a' }, { input: {} }, { input: { instructions: 'x'.repeat(4097) } }];
  for (const body of wrong) expect((await post(sandbox, '/research/tasks', body)).status).toBe(400);
  expect((await get(sandbox, '/research/tasks/none')).status).toBe(404);
  expect((await get(sandbox, '/research/tasks?limit=201')).status).toBe(400);
});
