import { afterEach, expect, test } from 'vitest';
import { type Fault, type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { get, post, raw, urls } from '../../support/sandbox/client.js';

let sandbox: Sandbox;
const start = async (...faults: Fault[]) => {
  sandbox = await startSandbox({ failureRate: 0, faults });
};
afterEach(() => sandbox.close());

const body = { urls: urls(2) };
const ask = () => post(sandbox, '/contents', body);
const statuses = async (count: number) => {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) seen.push((await ask()).status);
  return seen;
};
const booked = () => sandbox.bill().units;

test('the nth request, every nth, a limit, and a path: faults hit where they are declared', async () => {
  await start(
    { when: { nth: 2 }, do: { kind: 'status', status: 500 } },
    { when: { every: 3 }, do: { kind: 'status', status: 503 }, limit: 2 },
    { when: { path: '/search' }, do: { kind: 'status', status: 504 } },
  );
  expect(await statuses(10)).toEqual([200, 500, 503, 200, 200, 503, 200, 200, 200, 200]);
  expect((await post(sandbox, '/search', { query: 'q' })).status).toBe(504);
  expect(booked()).toBe(14);
  expect(sandbox.log(2)[0]).toMatchObject({ n: 2, status: 500, fault: 'status:500', limited: false, units: 0 });
});

test('a probability depends on its seed, with the same requests each time', async () => {
  const run = async (seed: number) => {
    await start({ when: { probability: 0.2, seed }, do: { kind: 'status', status: 500 } });
    const seen = await statuses(100);
    await sandbox.close();
    return seen;
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
  expect(first.filter((status) => status === 500).length).toBeGreaterThan(8);
  expect(first.filter((status) => status === 500).length).toBeLessThan(35);
});

test('a period starts when the faults are set, and ends', async () => {
  await start();
  await ask();
  sandbox.setFaults([{ when: { untilMs: 600 }, do: { kind: 'status', status: 503 } }]);
  const set = performance.now();
  expect((await ask()).status).toBe(503);
  await expect.poll(async () => (await ask()).status, { interval: 20 }).toBe(200);
  expect(performance.now() - set).toBeGreaterThan(595);
});

test('a status comes with tag, Retry-After, headers and envelope as declared', async () => {
  await start(
    { when: { nth: 1 }, do: { kind: 'status', status: 429, retryAfter: '3' } },
    { when: { nth: 2 }, do: { kind: 'status', status: 429, retryAfter: 'date+5' } },
    { when: { nth: 3 }, do: { kind: 'status', status: 402, tag: 'TEAM_BUDGET_EXCEEDED' } },
    { when: { nth: 4 }, do: { kind: 'status', status: 502, envelope: 'text' } },
    { when: { nth: 5 }, do: { kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
    { when: { nth: 6 }, do: { kind: 'status', status: 500, envelope: 'agent' } },
  );
  const seen = [await ask(), await ask(), await ask(), await ask(), await ask(), await ask()];
  expect(seen[0]).toMatchObject({ status: 429, headers: { 'retry-after': '3' }, json: { tag: 'RATE_LIMIT_EXCEEDED' } });
  expect(Date.parse(String(seen[1]?.headers['retry-after'])) - Date.now()).toBeGreaterThan(4000);
  expect(seen[2]?.json).toMatchObject({ tag: 'TEAM_BUDGET_EXCEEDED' });
  expect(seen[3]).toMatchObject({
    status: 502,
    json: undefined,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
  expect(seen[4]).toMatchObject({ status: 302, headers: { location: 'http://127.0.0.1:9/' } });
  expect(seen[5]?.json.error).toMatchObject({ type: 'SERVER_ERROR' });
  expect(booked()).toBe(0);
});

test('a status may come after the work was charged', async () => {
  await start({ when: { nth: 1 }, do: { kind: 'status', status: 504, charged: true } });
  expect((await ask()).status).toBe(504);
  expect(booked()).toBe(2);
  expect(sandbox.log()[0]).toMatchObject({ status: 504, units: 2 });
});

test('a reset before the work charges nothing, one after it charges all, and neither sends a byte', async () => {
  await start(
    { when: { nth: 1 }, do: { kind: 'reset', moment: 'before' } },
    { when: { nth: 2 }, do: { kind: 'reset', moment: 'after' } },
  );
  expect(await raw(sandbox, '/contents', body)).toEqual({ pieces: [], ended: 'reset' });
  expect(booked()).toBe(0);
  expect(await raw(sandbox, '/contents', body)).toEqual({ pieces: [], ended: 'reset' });
  expect(booked()).toBe(2);
  await expect(Promise.all([1, 2].map(() => ask()))).resolves.toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(sandbox.log().map((one) => [one.status, one.fault, one.units])).toEqual([
    [0, 'reset:before', 0],
    [0, 'reset:after', 2],
    [200, null, 2],
    [200, null, 2],
  ]);
});

test('a body is cut under a Content-Length that promised more', async () => {
  await start(
    { when: { nth: 1 }, do: { kind: 'truncate', bytes: 100 } },
    { when: { nth: 2 }, do: { kind: 'truncate', bytes: 0 } },
    { when: { every: 1 }, do: { kind: 'truncate', fraction: 0.5 } },
  );
  const { pieces, ended } = await raw(sandbox, '/contents', body);
  const [head, rest] = pieces.join('').split('\r\n\r\n') as [string, string];
  expect(ended).toBe('end');
  expect(rest).toHaveLength(100);
  expect(Number(/content-length: (\d+)/.exec(head)?.[1])).toBeGreaterThan(1000);
  expect((await raw(sandbox, '/contents', body)).pieces.join('')).toMatch(/\r\n\r\n$/);
  await expect(ask()).rejects.toThrow();
  expect(booked()).toBe(6);
});

test('a chunked body is cut without its last chunk', async () => {
  await start({ when: {}, do: { kind: 'truncate', bytes: 50, framing: 'chunked' } });
  const text = (await raw(sandbox, '/contents', body)).pieces.join('');
  expect(text.toLowerCase()).toContain('transfer-encoding: chunked');
  expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  await expect(ask()).rejects.toThrow();
  expect(booked()).toBe(4);
});

test('headers stall, and bodies stall half-way; the work is charged before', async () => {
  await start(
    { when: { nth: 1 }, do: { kind: 'stall', moment: 'headers', ms: 150 } },
    { when: { nth: 2 }, do: { kind: 'stall', moment: 'body', ms: 150 } },
  );
  const took = async () => {
    const from = performance.now();
    const { status, json } = await ask();
    expect([status, json.results.length]).toEqual([200, 2]);
    return performance.now() - from;
  };
  const first = took();
  await expect.poll(() => booked(), { interval: 5 }).toBe(2);
  expect(sandbox.log()[0]?.doneAt).toBeNull();
  expect(await first).toBeGreaterThan(145);
  expect(await took()).toBeGreaterThan(145);
});

test('an endless stall is ended by the close', async () => {
  await start({ when: {}, do: { kind: 'stall', moment: 'body', ms: 1e12 } });
  const seen = raw(sandbox, '/contents', body);
  await expect.poll(() => booked()).toBe(2);
  await sandbox.close();
  await seen;
});

test('another body comes with its type, and is charged only on request', async () => {
  await start(
    { when: { nth: 1 }, do: { kind: 'body', body: '<h1>Login</h1>' } },
    { when: { nth: 2 }, do: { kind: 'body', body: 'null', contentType: 'application/json', charged: true } },
    { when: { nth: 3 }, do: { kind: 'body', body: '' } },
  );
  expect(await ask()).toMatchObject({ status: 200, text: '<h1>Login</h1>', headers: { 'content-type': /html/ } });
  expect(booked()).toBe(0);
  expect(await ask()).toMatchObject({ text: 'null', headers: { 'content-type': 'application/json' } });
  expect(booked()).toBe(2);
  expect(await ask()).toMatchObject({ status: 200, text: '' });
});

test('faults are set over HTTP, and malformed ones are named', async () => {
  await start();
  const set = (faults: unknown) => post(sandbox, '/__sandbox/faults', faults);
  expect((await set([{ when: { nth: 1 }, do: { kind: 'status', status: 418 } }])).status).toBe(200);
  expect(await statuses(2)).toEqual([418, 200]);
  const wrong = await set([{ when: { nth: 0 }, do: { kind: 'explode' } }]);
  expect(wrong.status).toBe(400);
  expect(wrong.json.error).toContain('nth');
  expect((await set('{')).status).toBe(400);
  expect((await post(sandbox, '/__sandbox/reset', {})).status).toBe(200);
  expect(await statuses(2)).toEqual([418, 200]);
  expect((await get(sandbox, '/__sandbox/nothing')).status).toBe(404);
});
