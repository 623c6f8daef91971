import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { get, post, send } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';
import { listen } from '../../support/sandbox/listen.js';

let sandbox: Sandbox;
let listener: Awaited<ReturnType<typeof startListener>> | null = null;
const start = async (options: Partial<SandboxOptions> = {}) => {
  sandbox = await startSandbox({ ...options, monitors: { durationMs: 30, ...options.monitors } });
};
afterEach(async () => {
  await sandbox.close();
  listener?.close();
  listener = null;
});

/** Starts a server that receives deliveries of webhooks. It answers with the `statuses` one after the other, then with 200. */
async function startListener(statuses: number[] = []) {
  // biome-ignore lint/suspicious/noExplicitAny: tests read deliveries of many shapes.
  const received: { headers: Readonly<Record<string, string | string[] | undefined>>; raw: string; json: any }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    received.push({ headers: request.headers, raw, json: JSON.parse(raw) });
    response.writeHead(statuses.shift() ?? 200).end();
  });
  const url = await listen(server);
  return { url, received, close: () => void server.close() };
}

const webhook = { url: 'https://hooks.example/one' };
const create = async (more: object = {}) =>
  (await post(sandbox, '/monitors', { search: { query: 'news', numResults: 2 }, webhook, ...more })).json;
const runsOf = async (id: string, query = '') => (await get(sandbox, `/monitors/${id}/runs?${query}`)).json;
const statusesOf = async (id: string) =>
  (await runsOf(id)).data.map(({ status }: { status: string }) => status) as string[];

test('a monitor is created with a secret that is returned once, updated in part, and deleted', async () => {
  await start();
  const body = { name: 'News', search: { query: 'a', numResults: 5, odd: 1 }, webhook, metadata: { team: 'one' } };
  const { status, json } = await post(sandbox, '/monitors', { ...body, trigger: { type: 'interval', period: '6h' } });
  const { webhookSecret, ...record } = json;
  expect([status, webhookSecret]).toEqual([201, expect.stringMatching(/^whsec_\w{32}$/)]);
  expect(record).toMatchObject({ ...body, status: 'active', outputSchema: null });
  expect(Date.parse(record.nextRunAt) - Date.parse(record.createdAt)).toBe(6 * 3_600_000);
  expect((await get(sandbox, `/monitors/${record.id}`)).json).toEqual(record);
  const change = { search: { numResults: 9 }, trigger: null, metadata: null, status: 'paused' };
  const changed = await send(sandbox, 'PATCH', `/monitors/${record.id}`, change);
  expect(changed.json).toMatchObject({
    search: { query: 'a', numResults: 9, odd: 1 },
    name: 'News',
    status: 'paused',
    trigger: null,
    metadata: null,
    nextRunAt: null,
  });
  expect((await send(sandbox, 'DELETE', `/monitors/${record.id}`)).json).toEqual(changed.json);
  for (const path of ['', '/runs', '/runs/x']) {
    const gone = await get(sandbox, `/monitors/${record.id}${path}`);
    expect([gone.status, gone.json.tag]).toEqual([404, 'NOT_FOUND']);
  }
  expect(sandbox.bill().requests).toBe(0);
});

test('the list filters by status, part of the name in any case, and all pairs of metadata, and has pages', async () => {
  await start();
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    ids.unshift((await create({ name: `Daily NEWS ${n}`, metadata: { team: n < 4 ? 'a' : 'b', row: String(n) } })).id);
  }
  await send(sandbox, 'PATCH', `/monitors/${ids[0]}`, { status: 'paused' });
  const list = async (query: string) => {
    const { json } = await get(sandbox, `/monitors?${query}`);
    return json.data.map(({ id }: { id: string }) => id) as string[];
  };
  expect(await list('')).toEqual(ids);
  expect(await list('status=paused')).toEqual([ids[0]]);
  expect(await list('name=news%205')).toEqual([ids[0]]);
  expect(await list('metadata[team]=a')).toEqual(ids.slice(2));
  expect(await list(`${encodeURIComponent('metadata[team]')}=a&metadata[row]=3`)).toEqual([ids[2]]);
  expect(await list('metadata[team]=a&metadata[row]=5')).toEqual([]);
  const page = (await get(sandbox, '/monitors?limit=4')).json;
  expect(page).toMatchObject({ hasMore: true, data: { length: 4 } });
  await create();
  expect(await list(`limit=4&cursor=${page.nextCursor}`)).toEqual(ids.slice(4));
});

test.each([
  ['no search', { webhook }],
  ['an empty query', { webhook, search: { query: '' } }],
  ['no webhook', { search: { query: 'a' } }],
  ['a webhook in plain text', { search: { query: 'a' }, webhook: { url: 'http://hooks.example/' } }],
  ['an unknown event', { search: { query: 'a' }, webhook: { ...webhook, events: ['monitor.slept'] } }],
  ['101 results', { webhook, search: { query: 'a', numResults: 101 } }],
  ['a period of half an hour', { webhook, search: { query: 'a' }, trigger: { type: 'interval', period: '30m' } }],
  ['a period of two units', { webhook, search: { query: 'a' }, trigger: { type: 'interval', period: '1d6h' } }],
  ['metadata that is no text', { webhook, search: { query: 'a' }, metadata: { n: 1 } }],
  ['a name of 251 letters', { webhook, search: { query: 'a' }, name: 'x'.repeat(251) }],
])('a monitor with %s is a 400', async (_, body) => {
  await start();
  const { status, json } = await post(sandbox, '/monitors', body);
  expect([status, json.tag]).toEqual([400, 'INVALID_REQUEST_BODY']);
});

test('a triggered run goes from pending to completed, finds pages of its own, and is billed', async () => {
  await start({ monitors: { durationMs: 400 } });
  const { id } = await create({ outputSchema: { type: 'object', properties: { news: { type: 'string' } } } });
  expect((await send(sandbox, 'POST', `/monitors/${id}/trigger`)).json).toEqual({ triggered: true });
  expect(['pending', 'running']).toContain((await statusesOf(id))[0]);
  await eventually(() => statusesOf(id)).toEqual(['completed']);
  await send(sandbox, 'POST', `/monitors/${id}/trigger`);
  await eventually(() => statusesOf(id)).toEqual(['completed', 'completed']);
  const [second, first] = (await runsOf(id)).data;
  const run = (await get(sandbox, `/monitors/${id}/runs/${first.id}`)).json;
  expect(run).toMatchObject({
    monitorId: id,
    failReason: null,
    durationMs: expect.any(Number),
    output: { results: { length: 2 }, content: { news: expect.any(String) }, grounding: [{ field: 'news' }] },
  });
  expect(second.output.results[0].url).not.toBe(run.output.results[0].url);
  expect(sandbox.bill()).toMatchObject({ dollars: 0.03, requests: 0 });
  const page = await runsOf(id, 'limit=1');
  expect(page.data[0].id).toBe(second.id);
  expect((await runsOf(id, `limit=1&cursor=${page.nextCursor}`)).data[0].id).toBe(first.id);
  expect((await get(sandbox, `/monitors/${id}/runs?limit=101`)).status).toBe(400);
});

test('a batch is a dry run by default, affects the first matches, and reports whether there are more', async () => {
  await start();
  for (let n = 0; n < 5; n += 1) await create({ name: `m${n}`, metadata: { set: 'x' } });
  await create({ name: 'other' });
  const batch = async (body: object) => (await post(sandbox, '/monitors/batch', body)).json;
  const filter = { metadata: { set: 'x' }, status: 'active' };
  const preview = await batch({ action: 'pause', filter, limit: 2 });
  expect(preview).toMatchObject({ action: 'pause', affected: 2, dry_run: true, has_more: true });
  expect((await batch({ action: 'pause', filter, limit: 2, dry_run: false })).ids).toEqual(preview.ids);
  expect((await get(sandbox, '/monitors?status=paused')).json.data).toHaveLength(2);
  let more = true;
  while (more) more = (await batch({ action: 'pause', filter, limit: 2, dry_run: false })).has_more;
  expect((await get(sandbox, '/monitors?status=active')).json.data).toMatchObject([{ name: 'other' }]);
  const gone = await batch({ action: 'delete', filter: { name: 'M' }, dry_run: false });
  expect(gone).toMatchObject({ affected: 5, has_more: false });
  expect((await get(sandbox, '/monitors')).json.data).toHaveLength(1);
  const wrong = [{ action: 'pause' }, { action: 'pause', filter: {} }, { action: 'pause', filter, limit: 501 }];
  for (const body of [...wrong, { action: 'sleep', filter }])
    expect((await post(sandbox, '/monitors/batch', body)).status).toBe(400);
});

test('deliveries are signed, report runs and monitors, and are sent only for the requested events', async () => {
  await start({ monitors: { signatureHeader: 'X-Svc-Signature' } });
  listener = await startListener();
  const { id, webhookSecret } = await create({ webhook: { url: listener.url }, metadata: { row: '1' } });
  await send(sandbox, 'POST', `/monitors/${id}/trigger`);
  const received = () => listener?.received ?? [];
  await eventually(() =>
    received()
      .map(({ json }) => json.type)
      .toSorted(),
  ).toEqual(['monitor.created', 'monitor.run.completed', 'monitor.run.created']);
  for (const { headers, raw, json } of received()) {
    const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-svc-signature'])) ?? [];
    expect(createHmac('sha256', webhookSecret).update(`${time}.${raw}`).digest('hex')).toBe(signature);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^event_/),
      object: 'event',
      createdAt: expect.any(String),
    });
  }
  const done = received().find(({ json }) => json.type === 'monitor.run.completed')?.json.data;
  expect(done).toMatchObject({ monitorId: id, status: 'completed', metadata: { row: '1' } });
  await send(sandbox, 'PATCH', `/monitors/${id}`, { webhook: { events: ['monitor.deleted'] } });
  await send(sandbox, 'POST', `/monitors/${id}/trigger`);
  await eventually(() => statusesOf(id)).toEqual(['completed', 'completed']);
  await send(sandbox, 'DELETE', `/monitors/${id}`);
  await eventually(() => received().at(-1)?.json.type).toBe('monitor.deleted');
  expect(received()).toHaveLength(4);
});

test('a delivery is retried, sent twice on request, and given up in the end', async () => {
  await start({ monitors: { webhookAttempts: 2, webhookRetryMs: 5, webhookRepeat: 2 } });
  listener = await startListener([500, 500, 200, 503]);
  await create({ webhook: { url: listener.url, events: ['monitor.created'] } });
  await eventually(() => sandbox.state().webhooks).toMatchObject({ delivered: 1, failed: 1, waiting: 0 });
  expect(
    sandbox
      .state()
      .webhooks.attempts.map(({ attempt }) => attempt)
      .toSorted(),
  ).toEqual([1, 1, 2, 2]);
  expect(new Set(listener.received.map(({ json }) => json.id)).size).toBe(1);
});

test('failed runs have a reason and cost nothing; ten in a row for the key disable the monitor', async () => {
  await start({ monitors: { durationMs: 0, failureRate: 1, failReason: 'api_key_invalid' } });
  const { id } = await create();
  for (let n = 0; n < 10; n += 1) {
    expect((await send(sandbox, 'POST', `/monitors/${id}/trigger`)).status).toBe(200);
  }
  expect((await runsOf(id)).data[0]).toMatchObject({ status: 'failed', failReason: 'api_key_invalid', output: null });
  expect((await get(sandbox, `/monitors/${id}`)).json.status).toBe('disabled');
  expect(sandbox.bill().dollars).toBe(0);
  sandbox.reset();
  sandbox.setCredits(0);
  const poor = await create();
  await send(sandbox, 'POST', `/monitors/${poor.id}/trigger`);
  expect((await runsOf(poor.id)).data[0].failReason).toBe('insufficient_credits');
});
