import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { type Service, type ServiceOptions, startService } from '../../service/service.mjs';

async function open(options: ServiceOptions = {}) {
  const service = await startService(options);
  onTestFinished(() => service.close());
  return { service, post: (path: string, body: object, key?: string) => post(service, path, body, key) };
}

async function post({ url, key }: Pick<Service, 'url' | 'key'>, path: string, body: object, sent = key) {
  const headers = { 'content-type': 'application/json', 'x-api-key': sent };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const page = (number: number) => ({ urls: [`https://site-${number}.example/`], text: true });

it('the strict service admits the set number of units in any second, refuses others with a wait, and logs each call', async () => {
  const { service, post } = await open({ qps: 3, retryAfter: 1 });
  const statuses = [];
  for (const path of ['/contents', '/agent/runs', '/contents'])
    statuses.push(await post(path, { ...page(1), query: 'q' }));
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(statuses[2]?.headers.get('retry-after')).toBe('1');
  expect(service.log.map(({ units, refused }) => [units, refused])).toEqual([
    [1, null],
    [2, null],
    [1, 'rate'],
  ]);
  expect(service.log[2]?.earlyMs).toBeGreaterThan(0);
});

it.each([
  ['/contents', { urls: ['https://a.example/', 'https://b.example/'], text: true, summary: {} }, 2, 4000],
  ['/contents', { urls: ['https://a.example/'] }, 1, 1000],
  ['/search', { query: 'q', numResults: 26, contents: { text: true } }, 1, 51_000],
  ['/search', { query: 'q', type: 'deep' }, 1, 15_000],
  ['/findSimilar', { url: 'https://a.example/' }, 1, 5000],
  ['/answer', { query: 'q' }, 1, 5000],
  ['/agent/runs', { query: 'q' }, 1, 250_000],
])('the strict service charges %s %j by its own price table', async (path, body, units, micros) => {
  const { service, post } = await open();
  const { status, text } = await post(path, body);
  const { costDollars } = JSON.parse(text);
  expect(status).toBe(200);
  if (path !== '/agent/runs') expect(costDollars.total).toBe(micros / 1e6);
  expect(service.purchases.report()).toMatchObject({ micros, requests: 1 });
  expect(Object.keys(service.purchases.report().units)).toHaveLength(units);
});

it('the strict service charges nothing for missing pages', async () => {
  const { service, post } = await open({ rows: { failureRate: 1 } });
  const { text } = await post('/contents', page(1));
  expect(JSON.parse(text)).toMatchObject({ results: [], statuses: [{ status: 'error' }], costDollars: { total: 0 } });
  expect(service.purchases.report().micros).toBe(0);
});

it('the strict service as a process shows its log and its purchases, and ends with its standard input', async () => {
  const main = fileURLToPath(new URL('../../service/main.mjs', import.meta.url));
  const child = spawn(process.execPath, [main, '{"qps":100}'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  const url = String(line).trim();
  const get = async (what: string) => (await fetch(`${url}/__${what}`)).json();
  await fetch(`${url}/__next`, { method: 'POST', body: JSON.stringify([{ how: 'status', status: 402 }]) });
  expect((await post({ url, key: 'any' }, '/contents', page(1))).status).toBe(402);
  expect((await post({ url, key: 'any' }, '/contents', page(1))).status).toBe(200);
  expect(await get('log')).toMatchObject({ log: [{ status: 402 }, { status: 200, kind: 'contents' }] });
  expect(await get('purchases')).toMatchObject({ micros: 1000, requests: 1 });
  child.stdin.end();
  expect(await once(child, 'exit')).toEqual([0, null]);
});
