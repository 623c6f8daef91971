import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { post } from '../../support/sandbox/client.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

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

test('domain, date and text filters apply', async () => {
  const { json } = await post(sandbox, '/search', {
    query: 'größe',
    numResults: 20,
    includeDomains: ['one.example', '*.two.example', 'three.example/blog'],
    startPublishedDate: '2018-01-01T00:00:00.000Z',
    endPublishedDate: '2020-12-31T00:00:00.000Z',
    excludeText: ['copper wire'],
    contents: { text: true },
    context: true,
  });
  expect(json.results.length).toBeGreaterThan(5);
  for (const { url, publishedDate, text } of json.results) {
    expect(url).toMatch(/^https:\/\/(one|two|three)\.example\//);
    expect(publishedDate >= '2018' && publishedDate < '2021').toBe(true);
    expect(text).not.toContain('copper wire');
  }
  expect(json.context).toContain(json.results[0].url);
});

test.each([
  ['no query', {}, 'query'],
  ['a query that is no text', { query: 7 }, 'query'],
  ['text of two phrases', { query: 'q', includeText: ['a', 'b'] }, 'includeText'],
  ['a phrase of six words', { query: 'q', excludeText: ['a b c d e f'] }, 'excludeText'],
  ['more than 1200 domains', { query: 'q', excludeDomains: Array(1201).fill('a.example') }, 'excludeDomains'],
  ['additional queries without deep', { query: 'q', additionalQueries: ['r'] }, 'additionalQueries'],
  ['companies by date', { query: 'q', category: 'company', startPublishedDate: '2020-01-01' }, 'category'],
  ['a country of three letters', { query: 'q', userLocation: 'USA' }, 'userLocation'],
])('%s is a 400 that names the field', async (_, body, field) => {
  const { status, json } = await post(sandbox, '/search', body);
  expect(status).toBe(400);
  expect(json).toEqual({
    requestId: expect.any(String),
    error: expect.stringContaining(field),
    tag: 'INVALID_REQUEST_BODY',
  });
});

test('more than a hundred results have their own tag', async () => {
  const { status, json } = await post(sandbox, '/search', { query: 'q', numResults: 101 });
  expect([status, json.tag]).toEqual([400, 'INVALID_NUM_RESULTS']);
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
