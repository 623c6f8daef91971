import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import type { WalkDeps } from '../../../src/activities/base/deps.js';
import { walkOn } from '../../../src/activities/events/follow-cursor.js';
import type { LoadingWindow } from '../../../src/activities/events/walk-loader.js';
import { createTransport, type Transport } from '../../../src/api/transport.js';
import type { RawPage } from '../../../src/core/events/event-warehouse.js';
import { startWalk, WalkError, type WalkState } from '../../../src/core/events/walk.js';
import { BodyMemory } from '../../../src/core/purchase/body-memory.js';
import { noon } from '../../suites/made-events.js';
import { listen } from '../../support/sandbox/listen.js';
import { idleLimiter } from '../../support/store/idle-limiter.js';

let server: Server;
let transport: Transport;
afterEach(async () => {
  await transport.close();
  server.close();
});

const walk = { origin: 'sandbox', stream: 'sync', into: 'x', types: ['webset.idle'] };
const page = (id: string, cursor: string | null) => ({
  data: [{ id, type: 'webset.idle', createdAt: '2025-01-01T12:00:00Z', data: {} }],
  hasMore: cursor !== null,
  nextCursor: cursor,
});

/** Walks a window of a service that answers with `answer`. `start`: the state to resume from. */
async function walked(
  answer: (cursor: string | null, nth: number) => object | number,
  start: WalkState = startWalk(),
  headers: Record<string, string> = {},
) {
  const asked: URLSearchParams[] = [];
  server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    asked.push(query);
    const reply = answer(query.get('cursor'), asked.length);
    if (typeof reply === 'number') for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.statusCode = typeof reply === 'number' ? reply : 200;
    response.end(typeof reply === 'number' ? '{"error":"no","tag":"X"}' : JSON.stringify(reply));
  });
  const url = await listen(server);
  transport = createTransport({ baseUrl: url, apiKey: null });
  const deps: WalkDeps = {
    transport,
    origin: 'sandbox',
    limiter: idleLimiter(),
    events: {
      warehouse: () => {
        throw new Error('nothing is loaded here');
      },
    },
  };
  const put: RawPage[] = [];
  const loading: LoadingWindow = {
    memory: new BodyMemory(),
    put: async (raw) => void put.push(raw),
    soFar: () => ({ events: 0, added: 0, changed: 0, current: true }),
    landed: async () => ({ events: put.length, added: 0, changed: 0, current: true }),
    leave: () => undefined,
  };
  const window = { window: 1, from: noon(0), to: noon(10_000), walk: start };
  const reported: object[] = [];
  const options = {
    signal: new AbortController().signal,
    ...{ careful: false, splits: false, readsTimes: () => true, hasTime: () => asked.length < 20 },
    report: (changes: object) => void reported.push(changes),
  };
  const result = await walkOn(deps, walk, window, loading, options).catch((error: unknown) => error);
  await deps.limiter.close();
  return { result, asked, put, reported };
}

it('a walk requests the time and types of the window, page after page, with the returned cursors', async () => {
  const { result, asked, put } = await walked((cursor) => page(`e${cursor}`, cursor === null ? 'b' : null));
  expect(result).toMatchObject({ parts: null, walked: { done: true, pages: 2 } });
  expect(put.map((raw) => raw.page)).toEqual([1, 2]);
  expect(asked.map((query) => query.get('cursor'))).toEqual([null, 'b']);
  expect(Object.fromEntries(asked[0] as URLSearchParams)).toMatchObject({
    limit: '200',
    types: 'webset.idle',
    createdAfter: new Date(noon(0)).toISOString(),
    createdBefore: new Date(noon(10_000)).toISOString(),
  });
});

it('a walk requests a page again after a temporary failure, reports the wait, and continues after it', async () => {
  const { result, asked, put, reported } = await walked(
    (cursor, nth) => (nth === 2 ? 500 : nth === 3 ? 429 : page(`e${cursor}`, cursor === null ? 'b' : null)),
    startWalk(),
    { 'retry-after': '0' },
  );
  expect(result).toMatchObject({ parts: null, walked: { done: true, pages: 2 } });
  expect([put.length, asked.map((query) => query.get('cursor'))]).toEqual([2, [null, 'b', 'b', 'b']]);
  const waits = reported.flatMap((one) => ('waitingFor' in one ? [one.waitingFor] : []));
  expect(waits).toEqual(expect.arrayContaining([expect.stringContaining('500'), expect.stringContaining('429'), null]));
  expect(waits.at(-1)).toBeNull();
});

it('a walk returns early if a wait is too long', async () => {
  const { result, asked } = await walked(() => 503, startWalk(), { 'retry-after': '3600' });
  expect([asked.length, (result as { verdict?: object }).verdict]).toMatchObject([1, { retry: true }]);
});

it('a walk reports how much of its window is read after a page, in either order', async () => {
  const times = ['2025-01-01T12:00:00Z', '2025-01-01T13:00:00Z'];
  for (const [order, coveredMs] of [
    [times, 3_600_000],
    [[...times].reverse(), 10_000_000],
  ] as const) {
    const data = order.map((createdAt) => ({ id: createdAt, type: 'webset.idle', createdAt, data: {} }));
    const { reported } = await walked(() => ({ data, hasMore: false, nextCursor: null }));
    expect(reported).toContainEqual({ pages: 1, coveredMs });
    await transport.close();
    server.close();
  }
});

const halves = [
  { from: noon(0), to: noon(5000) },
  { from: noon(5000), to: noon(10_000) },
];

it.each([
  ['page', (cursor: string | null) => page('same', `c${cursor}`)],
  ['cursor', (cursor: string | null) => page(`e${cursor}${Math.random()}`, 'again')],
])(
  'a walk restarts in halves when the service returns the same %s again and again, and fails in the end',
  async (_, answer) => {
    let begin = startWalk();
    for (const circles of [1, 2]) {
      const { result, asked, put } = await walked(answer, begin);
      expect(result).toMatchObject({ parts: halves, begin: { ...startWalk(), circles } });
      expect(put.length).toBeLessThanOrEqual(4);
      expect(asked.length).toBeLessThanOrEqual(put.length + 4);
      begin = (result as { begin: WalkState }).begin;
      await transport.close();
      server.close();
    }
    const { result } = await walked(answer, begin);
    expect(result).toBeInstanceOf(WalkError);
    expect(String(result)).toMatch(
      /^WalkError: pagination loop .* from 2025-01-01T12:00:00.000Z .*; run the same command to retry from there/,
    );
  },
);

it('a walk restarts in halves when the service no longer accepts the cursor, and forgets earlier repeats', async () => {
  const kept = { ...startWalk('kept', 2), pages: 5 };
  const expired = await walked((cursor) => (cursor === 'kept' ? 400 : page('e', null)), kept);
  expect(expired.result).toMatchObject({ parts: halves, begin: startWalk(), walked: { pages: 5 } });
});

it('a walk returns its progress when its time is up', async () => {
  const { result, put } = await walked((cursor) => page(`e${cursor}`, `${Number(cursor) + 1}`));
  expect(result).toMatchObject({ parts: null, walked: { done: false, pages: 20, cursor: '20' } });
  expect(put).toHaveLength(20);
});
