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
