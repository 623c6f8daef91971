import { expect, test } from 'vitest';
import { type RequestLogEntry, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { RateWindow } from '../../../src/sandbox/server/rate-gate.js';
import { closeAfterTest } from '../../support/after-test.js';
import { get, post, urls } from '../../support/sandbox/client.js';

const start = async (options: Partial<SandboxOptions>) =>
  closeAfterTest(await startSandbox({ failureRate: 0, ...options }));

/** The largest number of these times within any second, counted in the plainest way. */
function mostInOneSecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length));
}

test('no sliding second holds more than the limit, and no request is refused without need', async () => {
  const running = await start({ qps: 40 });
  const until = performance.now() + 2300;
  const client = async () => {
    while (performance.now() < until) await post(running, '/contents', { urls: urls(1) });
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const log = running.log();
  const admitted = log.filter((one) => !one.limited).map((one) => one.at);
  expect(mostInOneSecond(admitted)).toBe(40);
  expect(running.stats()).toMatchObject({ maxInSlidingSecond: 40, limited: log.length - admitted.length });
  expect(log.length).toBeGreaterThan(admitted.length);
  const needless = log.filter(
    (one: RequestLogEntry) => one.limited && admitted.filter((at) => at > one.at - 1000 && at <= one.at).length < 40,
  );
  expect(needless).toEqual([]);
  expect(running.bill().requests).toBe(admitted.length);
});

test('refused requests use no units, and a request may start exactly a second after the oldest', () => {
  const window = new RateWindow(2);
  const admitted = [0, 10, 20, 999, 1000, 1009, 1010, 1500, 2000].filter((now) => window.admit(now));
  expect(admitted).toEqual([0, 10, 1000, 1010, 2000]);
  expect(window.max).toBe(2);
});

test.each([
  ['none', 0, /^undefined$/],
  ['seconds', 3, /^3$/],
  ['http-date', 3, /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/],
] as const)('the limit answers 429 with Retry-After: %s', async (retryAfter, retryAfterSeconds, form) => {
  const running = await start({ qps: 1, retryAfter, retryAfterSeconds });
  await post(running, '/search', { query: 'q' });
  const before = Date.now();
  const { status, headers, json } = await post(running, '/search', { query: 'q' });
  expect([status, json.tag]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  const value = String(headers['retry-after']);
  expect(value).toMatch(form);
  if (retryAfter === 'http-date') expect(Date.parse(value)).toBeGreaterThanOrEqual(before + 3000);
  expect(running.log()[1]).toMatchObject({ n: 2, status: 429, limited: true, units: 0, fault: null });
});

test('the start of an agent run counts as two requests, polling one as none', async () => {
  const running = await start({ qps: 3 });
  const { json } = await post(running, '/agent/runs', { query: 'q' });
  expect((await post(running, '/agent/runs', { query: 'q' })).status).toBe(429);
  expect((await post(running, '/search', { query: 'q' })).status).toBe(200);
  for (const path of ['', `/${json.id}`, `/${json.id}/events`]) {
    expect((await get(running, `/agent/runs${path}`)).status).toBe(200);
  }
  expect((await get(running, '/monitors')).status).toBe(429);
  expect(running.stats().maxInSlidingSecond).toBe(3);
});

test('a profile limits each kind of request separately, deep searches within searches', async () => {
  const buckets = [
    { name: 'search', qps: 3, classes: ['search', 'search.deep', 'default'] },
    { name: 'deep', qps: 1, classes: ['search.deep'] },
    { name: 'contents', qps: 2, classes: ['contents'] },
    { name: 'websets', qps: 1, classes: ['websets'] },
  ];
  const running = await start({ rate: { name: 'own', buckets } });
  const statuses = async (send: () => Promise<{ status: number }>, times: number) => {
    const all: number[] = [];
    for (let n = 0; n < times; n += 1) all.push((await send()).status);
    return all;
  };
  expect(await statuses(() => post(running, '/search', { query: 'q', type: 'deep' }), 2)).toEqual([200, 429]);
  expect(await statuses(() => post(running, '/search', { query: 'q' }), 3)).toEqual([200, 200, 429]);
  expect(await statuses(() => get(running, '/monitors'), 1)).toEqual([429]);
  expect(await statuses(() => post(running, '/contents', { urls: urls(1) }), 3)).toEqual([200, 200, 429]);
  expect(await statuses(() => get(running, '/websets/v0/events'), 2)).toEqual([200, 429]);
  expect((await get(running, '/websets/v0/events')).json.error).toContain('1 requests per second (websets)');
  expect(running.stats()).toMatchObject({ limited: 6, maxInSlidingSecond: 6 });
});

test('the log keeps the last requests and returns them from any number on', async () => {
  const running = await start({ logEntries: 8 });
  for (let n = 0; n < 12; n += 1) await post(running, '/search', { query: 'q' });
  expect(running.log().map((one) => one.n)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
  expect(running.log(10).map((one) => one.n)).toEqual([10, 11, 12]);
  expect(running.log(13)).toEqual([]);
  expect((await get(running, '/__sandbox/log?from=11')).json).toHaveLength(2);
  expect((await get(running, '/__sandbox/stats')).json).toMatchObject({
    requests: 12,
    byStatus: { 200: 12 },
    limited: 0,
  });
});
