import { expect, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ofFile } from '../../support/of-file.js';
import { post } from '../../support/sandbox/client.js';

const sandbox = ofFile(startSandbox);
const urlsOf = (json: { results: { url: string }[] }) => json.results.map((one) => one.url);

test('a search returns ten distinct results without contents, and the same ones each time', async () => {
  const { json, headers } = await post(sandbox, '/search', { query: 'repair of vintage radios' });
  expect(new Set(urlsOf(json)).size).toBe(10);
  expect(json.results[0]).not.toHaveProperty('text');
  expect(json).toMatchObject({ searchType: 'neural', costDollars: { total: 0.007 } });
  expect(json).not.toHaveProperty('statuses');
  expect(headers['x-svc-queued']).toBe('false');
  expect(urlsOf((await post(sandbox, '/search', { query: 'repair of vintage radios' })).json)).toEqual(urlsOf(json));
});

test('results above ten, deep searches and summaries cost more; texts do not', async () => {
  const priceOf = async (body: object) =>
    (await post(sandbox, '/search', { query: 'q', ...body })).json.costDollars.total;
  expect(await priceOf({ numResults: 25 })).toBe(0.022);
  expect(await priceOf({ type: 'deep' })).toBe(0.012);
  expect(await priceOf({ contents: { text: true } })).toBe(0.007);
  expect(await priceOf({ numResults: 3, contents: { summary: { query: 'why' } } })).toBe(0.01);
});

test('the unit is the whole request, in any order of its fields', async () => {
  sandbox.reset();
  await post(sandbox, '/search', '{"query":"q","numResults":2}');
  await post(sandbox, '/search', '{"numResults":2,"query":"q"}');
  expect(sandbox.bill()).toMatchObject({
    dollars: 0.014,
    requests: 2,
    units: 2,
    keys: { 'search {"numResults":2,"query":"q"}': 2 },
  });
});
