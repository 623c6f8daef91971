import { afterEach, expect, test } from 'vitest';
import { eventTypes } from '../../../src/core/events/payloads.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { get, post } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';

let sandbox: Sandbox;
const from = '2025-01-01T00:00:00.000Z';
const to = '2025-02-01T00:00:00.000Z';
const start = async (events: SandboxOptions['events'] = {}, more: Partial<SandboxOptions> = {}) => {
  sandbox = await startSandbox({ events: { count: 1000, from, to, ...events }, ...more });
};
afterEach(() => sandbox.close());

// biome-ignore lint/suspicious/noExplicitAny: events of 19 shapes.
type Event = any;
const page = async (query = '') => (await get(sandbox, `/websets/v0/events?${query}`)).json;
const walk = async (query = 'limit=200'): Promise<Event[]> => {
  const all: Event[] = [];
  let cursor = '';
  for (;;) {
    const { data, hasMore, nextCursor } = await page(`${query}${cursor}`);
    all.push(...data);
    expect(hasMore).toBe(nextCursor !== null);
    if (!hasMore) return all;
    cursor = `&cursor=${nextCursor}`;
  }
};
const times = (events: Event[]) => events.map(({ createdAt }) => Date.parse(createdAt) as number);

test('a walk sees every event once, newest first, of all nineteen types', async () => {
  await start();
  const events = await walk();
  expect(events).toHaveLength(1000);
  expect(new Set(events.map(({ id }) => id)).size).toBe(1000);
  expect(new Set(events.map(({ type }) => type)).size).toBe(19);
  expect(times(events)).toEqual(times(events).toSorted((left, right) => right - left));
  expect(events.at(-1).createdAt).toBe(from);
  expect((await page()).data).toHaveLength(25);
});

test('oldest first is the reversed history, and the same seed makes it again', async () => {
  await start();
  const newest = await walk();
  await sandbox.close();
  await start({ order: 'oldest' });
  expect(await walk()).toEqual(newest.toReversed());
  await sandbox.close();
  await start({}, { seed: 2 });
  expect((await page()).data[0].id).not.toBe(newest[0].id);
});

test('many events share a timestamp, and both bounds are included', async () => {
  await start({ sameTimestamp: 50 });
  const events = await walk();
  const stamps = [...new Set(events.map(({ createdAt }) => createdAt as string))];
  expect(stamps).toHaveLength(20);
  const bounded = await walk(`limit=7&createdAfter=${stamps[4]}&createdBefore=${stamps[2]}`);
  expect(bounded).toEqual(events.slice(100, 250));
  expect(await walk(`createdBefore=${from}`)).toHaveLength(50);
  expect(await walk('createdAfter=2026-01-01T00:00:00Z')).toEqual([]);
});

test('types filter, repeated; an event read by its id equals that in the list', async () => {
  await start();
  const events = await walk();
  const wanted = ['webset.deleted', 'webset.export.completed'];
  const some = await walk(`limit=3&types=${wanted.join('&types=')}`);
  expect(some).toEqual(events.filter(({ type }) => wanted.includes(type)));
  for (const event of events.slice(0, 60))
    expect((await get(sandbox, `/websets/v0/events/${event.id}`)).json).toEqual(event);
  expect((await get(sandbox, '/websets/v0/events/event_00000000zz')).json.tag).toBe('NOT_FOUND');
});

test('events about one resource are consistent over time, and with the current websets', async () => {
  await start({ order: 'oldest', count: 4000 });
  const events = await walk();
  const seen = new Map<string, Event>();
  for (const { type, data, createdAt } of events) {
    const before = seen.get(data.id);
    if (before) {
      expect(data.createdAt).toBe(before.createdAt);
      expect(data.updatedAt >= before.updatedAt).toBe(true);
      expect(data.object).toBe(before.object);
    } else expect(data.createdAt).toBe(createdAt);
    if (data.websetId) expect(seen.has(data.websetId)).toBe(true);
    if (type === 'webset.item.enriched') expect(data.enrichments).toHaveLength(3);
    if (type.startsWith('webset.item.')) expect(seen.has(data.sourceId)).toBe(true);
    if (data.monitorId) expect(seen.has(data.monitorId)).toBe(true);
    for (const one of data.searches ?? []) expect(seen.get(one.id) ?? one).toMatchObject({ query: one.query });
    seen.set(data.id, data);
  }
  const deleted = new Set(events.filter(({ type }) => type === 'webset.deleted').map(({ data }) => data.id));
  const websets = [...seen.values()].filter(({ object }) => object === 'webset');
  const listed: Event[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await get(sandbox, `/websets/v0/websets?limit=30${cursor}`);
    listed.push(...json.data);
    if (!json.hasMore) break;
    cursor = `&cursor=${json.nextCursor}`;
  }
  expect(listed.map(({ id }) => id).toSorted()).toEqual(
    websets
      .map(({ id }) => id)
      .filter((id) => !deleted.has(id))
      .toSorted(),
  );
  const old = listed.at(-1);
  expect(old).toEqual(seen.get(old.id));
  expect((await get(sandbox, `/websets/v0/websets/${[...deleted][0]}`)).status).toBe(404);
  const named = listed.find(({ externalId }) => externalId !== null);
  const whole = (await get(sandbox, `/websets/v0/websets/${named.externalId}?expand=items`)).json;
  expect(whole.id).toBe(named.id);
  for (const item of whole.items) expect(item).toEqual(seen.get(item.id));
  const items = `/websets/v0/websets/${named.id}/items`;
  const first = (await get(sandbox, `${items}?limit=4`)).json;
  const second = (await get(sandbox, `${items}?limit=100&cursor=${first.nextCursor}`)).json;
  expect([...first.data, ...second.data]).toEqual(whole.items);
  expect((await get(sandbox, `${items}?sourceId=${whole.items[0].sourceId}`)).json.data).toEqual([whole.items[0]]);
});

test('new events arrive during a walk, and shift none of its pages', async () => {
  await start({ arrivingPerSecond: 500 });
  const first = await page('limit=200');
  await eventually(async () => (await page('limit=1')).data[0].id).not.toBe(first.data[0].id);
  const second = await page(`limit=200&cursor=${first.nextCursor}`);
  const ids = new Set([...first.data, ...second.data].map(({ id }: Event) => id));
  expect(ids.size).toBe(400);
  expect(times(second.data)[0]).toBeLessThanOrEqual(times(first.data).at(-1) as number);
});

test('in a list paged by offset, new events push known ones onto the next page', async () => {
  await start({ arrivingPerSecond: 500, paging: 'offset' });
  const first = await page('limit=100');
  await eventually(async () => (await page('limit=1')).data[0].id).not.toBe(first.data[0].id);
  const second = await page(`limit=100&cursor=${first.nextCursor}`);
  const ids = new Set([...first.data, ...second.data].map(({ id }: Event) => id));
  expect(ids.size).toBeLessThan(200);
});

test('late events appear after their time, at their position', async () => {
  const now = Date.now();
  const recent = { from: new Date(now - 500).toISOString(), to: new Date(now).toISOString(), count: 100 };
  await start({ ...recent, late: 0.3, lateMs: { min: 700, max: 900 } });
  const early = await walk();
  expect(early.length).toBeLessThan(90);
  await eventually(async () => (await walk()).length).toBe(100);
  const all = await walk();
  const known = new Set(early.map(({ id }) => id));
  const late = all.filter(({ id }) => !known.has(id));
  expect(Math.min(...times(late))).toBeLessThan(Math.max(...times(early)));
});

test('a cursor expires, and one of another list or of nothing is refused', async () => {
  await start({ cursorTtlMs: 30 });
  const { nextCursor } = await page('limit=10');
  await eventually(async () => (await page(`limit=10&cursor=${nextCursor}`)).error).toContain('expired');
  const other = (await get(sandbox, '/websets/v0/websets?limit=1')).json.nextCursor;
  for (const query of [
    `cursor=${other}`,
    'cursor=',
    'limit=0',
    'limit=201',
    'types=webset.burned',
    'createdAfter=soon',
  ]) {
    const { status, json } = await get(sandbox, `/websets/v0/events?${query}`);
    expect([query, status, json.tag]).toEqual([query, 400, 'INVALID_REQUEST_QUERY']);
  }
});

test('events can be triggered, each with a webset of its own', async () => {
  await start({ count: 50 });
  const { json } = await post(sandbox, '/__sandbox/trigger', { event: 'webset.item.created', count: 3 });
  const { data } = await page('limit=4');
  expect(data.map(({ id }: Event) => id)).toEqual([...json.ids.toReversed(), data[3].id]);
  expect(data[0]).toMatchObject({ type: 'webset.item.created', data: { object: 'webset_item' } });
  expect((await get(sandbox, `/websets/v0/events/${json.ids[0]}`)).json).toEqual(data[2]);
  const webset = (await get(sandbox, `/websets/v0/websets/${data[0].data.websetId}?expand=items`)).json;
  expect(webset.items).toContainEqual(data[0].data);
  expect(await walk('limit=7')).toHaveLength(53);
  const [deleted] = sandbox.trigger({ event: 'webset.deleted' });
  expect((await get(sandbox, `/websets/v0/events/${deleted}`)).json.type).toBe('webset.deleted');
  expect(sandbox.state().events).toEqual({ count: 54, triggered: 4 });
  expect((await post(sandbox, '/__sandbox/trigger', { event: 'webset.burned' })).status).toBe(400);
  expect((await post(sandbox, '/__sandbox/trigger', { monitorRun: 'nobody' })).status).toBe(404);
});

test('an event of every type can be triggered, and is listed with its data from then on', async () => {
  await start({ count: 0 });
  const ids = eventTypes.map((event) => sandbox.trigger({ event })[0]);
  const events = await walk('limit=5');
  expect(events.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(events.map(({ type }) => type)).toEqual(eventTypes.toReversed());
  for (const { id, data } of events) {
    expect(data).toMatchObject({ id: expect.any(String), object: expect.any(String) });
    expect((await get(sandbox, `/websets/v0/events/${id}`)).status).toBe(200);
  }
  const { status, json } = await post(sandbox, '/__sandbox/trigger', { event: 'webset.burned' });
  expect([status, json.error]).toEqual([400, expect.stringContaining('webset.burned')]);
  expect(json.error).toContain('webset.export.completed');
});

test('the middle and the ends of a million events need one request', async () => {
  await start({ count: 1_000_000, sameTimestamp: 10 });
  const middle = '2025-01-16T12:00:00.000Z';
  const { data } = await page(`limit=200&createdBefore=${middle}`);
  expect(data[0].createdAt <= middle).toBe(true);
  expect(data).toHaveLength(200);
  const rare = await page(`limit=200&types=webset.deleted&createdAfter=${from}&createdBefore=${middle}`);
  expect(new Set(rare.data.map(({ type }: Event) => type))).toEqual(new Set(['webset.deleted']));
  expect(sandbox.state().events.count).toBe(1_000_000);
});
