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

test('the list of websets has each one once over its pages, and no deleted one', async () => {
  await start({ count: 4000 });
  const events = await walk();
  const idsOf = (some: Event[]) => new Set<string>(some.map(({ data }) => data.id));
  const deleted = idsOf(events.filter(({ type }) => type === 'webset.deleted'));
  const known = idsOf(events.filter(({ data }) => data.object === 'webset'));
  const listed: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await get(sandbox, `/websets/v0/websets?limit=30${cursor}`);
    listed.push(...json.data.map(({ id }: Event) => id));
    if (!json.hasMore) break;
    cursor = `&cursor=${json.nextCursor}`;
  }
  expect(listed.toSorted()).toEqual([...known].filter((id) => !deleted.has(id)).toSorted());
  expect((await get(sandbox, `/websets/v0/websets/${[...deleted][0]}`)).status).toBe(404);
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
