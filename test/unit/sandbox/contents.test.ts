import { expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { post, urls } from '../../support/sandbox/client.js';

const start = async (options: Partial<SandboxOptions> = {}) => closeAfterTest(await startSandbox(options));

test('every URL gets a status, successful ones a result and a price, and the same each time', async () => {
  const sandbox = await start({ failures: { 'https://site.example/5': 'CRAWL_HTTP_403' } });
  const asked = [...urls(99), 'mailto:nobody@site.example'];
  const { status, headers, json } = await post(sandbox, '/contents', { urls: asked });
  expect(status).toBe(200);
  expect(json.statuses.map((one: { id: string }) => one.id)).toEqual(asked);
  const good = json.statuses.filter((one: { status: string }) => one.status === 'success');
  expect(json.results.map((one: { url: string }) => one.url)).toEqual(good.map((one: { id: string }) => one.id));
  expect(good.length).toBeGreaterThan(85);
  expect(good.length).toBeLessThan(99);
  expect(json.statuses.at(-1)).toEqual({
    id: asked.at(-1),
    status: 'error',
    error: { tag: 'UNSUPPORTED_URL', httpStatusCode: null },
  });
  expect(json.costDollars).toMatchObject({ total: good.length / 1000, contents: { text: good.length / 1000 } });
  expect(headers['x-request-id']).toBe(json.requestId);
  expect(headers).toMatchObject({ 'x-svc-queued': 'false', 'x-svc-queue-ms': '0' });

  const again = (await post(sandbox, '/contents', { urls: asked })).json;
  expect(again.results).toEqual(json.results);
  expect(again.statuses).toEqual(json.statuses);
  expect(again.requestId).not.toBe(json.requestId);
});

test('configured failures fail, and temporary ones succeed after the configured number of attempts', async () => {
  const [gone, slow] = ['https://a.example/gone', 'https://a.example/slow'];
  const failures = { [gone]: 'CRAWL_NOT_FOUND', [slow]: 'CRAWL_TIMEOUT' };
  const sandbox = await start({ failureRate: 0, failures, transientFailures: 1 });
  const outcome = async () =>
    (await post(sandbox, '/contents', { urls: [gone, slow] })).json.statuses.map(
      (one: { status: string }) => one.status,
    );
  expect(await outcome()).toEqual(['error', 'error']);
  expect(await outcome()).toEqual(['error', 'success']);
});

test('highlights, summaries, subpages, extras and context are returned on request, each priced by page', async () => {
  const sandbox = await start({ failureRate: 0 });
  const { json } = await post(sandbox, '/contents', {
    urls: urls(2),
    highlights: { numSentences: 2, highlightsPerUrl: 3, query: 'copper wire' },
    summary: { schema: { type: 'object', properties: { year: { type: 'integer' }, kind: { enum: ['a', 'b'] } } } },
    subpages: 2,
    subpageTarget: 'about, contact',
    extras: { links: 3 },
    context: { maxCharacters: 50 },
  });
  const [first] = json.results;
  expect(first).not.toHaveProperty('text');
  expect(first.highlights).toHaveLength(3);
  expect(first.highlightScores).toHaveLength(3);
  expect(JSON.parse(first.summary)).toEqual({ year: expect.any(Number), kind: expect.stringMatching(/^[ab]$/) });
  expect(first.subpages.map((one: { url: string }) => one.url)).toEqual([
    'https://site.example/1/about',
    'https://site.example/1/contact',
  ]);
  expect(first.extras.links).toHaveLength(3);
  expect(json.context.length).toBeLessThanOrEqual(50);
  expect(json.costDollars.total).toBe(0.012);
});

test('pages have the configured size, some without an author, some hostile, some beyond ASCII', async () => {
  const sandbox = await start({ failureRate: 0, textBytes: 500 });
  const pages = [];
  for (let from = 1; from <= 500; from += 100) {
    pages.push(...(await post(sandbox, '/contents', { urls: urls(100, from) })).json.results);
  }
  const texts = pages.map((page: { text: string }) => page.text);
  const mean = texts.reduce((sum: number, text: string) => sum + text.length, 0) / texts.length;
  expect(Math.abs(mean - 500)).toBeLessThan(75);
  expect(texts.some((text: string) => text.startsWith('='))).toBe(true);
  expect(texts.some((text: string) => text.includes('\u001b['))).toBe(true);
  expect(texts.some((text: string) => /[\u0100-\uffff]/.test(text))).toBe(true);
  expect(pages.some((page: { author?: string }) => page.author === undefined)).toBe(true);
  expect(pages.some((page: { author?: string }) => page.author !== undefined)).toBe(true);
});
