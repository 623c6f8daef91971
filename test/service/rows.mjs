// The calls of row jobs: contents of pages, searches, answers and similar pages. The prices are in this file only.
import { z } from 'zod';
import { hashOf } from './chance.mjs';

const prices = { page: 1000, search: { few: 5000, many: 25_000 }, deep: { few: 15_000, many: 75_000 }, answer: 5000 };
const asked = (options) => ['text', 'highlights', 'summary'].filter((what) => options?.[what]);

const contentOptions = {
  text: z.union([z.boolean(), z.looseObject({})]).optional(),
  highlights: z.union([z.boolean(), z.looseObject({})]).optional(),
  summary: z.union([z.boolean(), z.looseObject({})]).optional(),
};
const address = z.string().min(1).max(2048);
const contentsBody = z
  .looseObject({
    urls: z.array(address).max(100).optional(),
    ids: z.array(address).max(100).optional(),
    ...contentOptions,
  })
  .refine(({ urls, ids }) => (urls ?? ids ?? []).length > 0, 'urls is empty');
const filters = {
  numResults: z.number().int().min(1).max(100).default(10),
  includeDomains: z.array(z.string()).max(1200).optional(),
  excludeDomains: z.array(z.string()).max(1200).optional(),
  contents: z.looseObject(contentOptions).optional(),
};
const searchBody = z.looseObject({ query: z.string().min(1), type: z.string().default('auto'), ...filters });
const similarBody = z.looseObject({ url: z.string().min(3), ...filters });
const answerBody = z.looseObject({ query: z.string().min(1), text: z.boolean().optional() });

export function paidRows({ failureRate = 0, textBytes = 100, timeouts = 1 }, purchases) {
  /** How often each slow page was asked for. */
  const asks = new Map();
  const isSlow = (url) => url.includes('slow') && (asks.get(url) ?? 0) <= timeouts;
  const isGone = (url) => url.includes('gone') || hashOf(url) / 2 ** 32 < failureRate;
  const fails = (url) => isGone(url) || isSlow(url);
  const errorOf = (url) =>
    isGone(url) ? { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } : { tag: 'CRAWL_TIMEOUT', httpStatusCode: 504 };
  const textOf = (url) => `About ${url}. `.repeat(Math.ceil(textBytes / (url.length + 8))).slice(0, textBytes);
  const pageOf = (url, options) => ({
    ...{
      id: url,
      url,
      title: `Page ${hashOf(url) % 1000}`,
      author: 'Somebody',
      publishedDate: '2026-01-31T00:00:00.000Z',
    },
    ...(options.includes('text') ? { text: textOf(url) } : {}),
    ...(options.includes('highlights') ? { highlights: ['It makes things.'], highlightScores: [0.5] } : {}),
    ...(options.includes('summary') ? { summary: 'It makes things.' } : {}),
  });
  const dollars = (units) => ({ total: units.reduce((sum, { micros }) => sum + micros, 0) / 1e6 });

  function contents({ body, entry }) {
    const request = contentsBody.parse(body);
    const urls = [...new Set(request.urls ?? request.ids)];
    const options = asked(request).length > 0 ? asked(request) : ['text'];
    for (const url of urls) asks.set(url, (asks.get(url) ?? 0) + 1);
    const found = urls.filter((url) => !fails(url));
    const units = found.map((url) => ({ key: url, micros: prices.page * options.length }));
    purchases.charge('contents', units, entry.requestId);
    entry.ids = urls;
    return {
      requestId: entry.requestId,
      results: found.map((url) => pageOf(url, options)),
      statuses: urls.map((id) =>
        fails(id) ? { id, status: 'error', error: errorOf(id) } : { id, status: 'success', source: 'cached' },
      ),
      costDollars: dollars(units),
    };
  }

  /** A search is one unit. Its key is the operation and the question. */
  function found(operation, question, request, entry) {
    const options = asked(request.contents);
    const price = request.type?.startsWith('deep') ? prices.deep : prices.search;
    const base = request.numResults <= 25 ? price.few : price.many;
    const key = `${operation} ${JSON.stringify(question)}`;
    const units = [{ key, micros: base + request.numResults * options.length * prices.page }];
    purchases.charge(operation, units, entry.requestId);
    entry.ids = [key];
    const site = hashOf(key).toString(36);
    const urls = Array.from({ length: request.numResults }, (_, index) => `https://result-${index}.example/${site}`);
    const results = urls.map((url) => pageOf(url, options));
    return { requestId: entry.requestId, results, searchType: 'neural', costDollars: dollars(units) };
  }

  function search({ body, entry }) {
    const request = searchBody.parse(body);
    return found('search', request.query, request, entry);
  }

  function similar({ body, entry }) {
    const request = similarBody.parse(body);
    return found('findSimilar', request.url, request, entry);
  }

  function answer({ body, entry }) {
    const { query, text } = answerBody.parse(body);
    const key = `answer ${JSON.stringify(query)}`;
    const units = [{ key, micros: prices.answer }];
    purchases.charge('answer', units, entry.requestId);
    entry.ids = [key];
    const citations = [pageOf(`https://source.example/${hashOf(key).toString(36)}`, text ? ['text'] : [])];
    return { requestId: entry.requestId, answer: `It is ${hashOf(key)}.`, citations, costDollars: dollars(units) };
  }

  const headers = () => ({ 'x-svc-queued': 'false', 'x-svc-queue-ms': '0' });
  return {
    refusal: (code, message) => ({ error: message, tag: code }),
    routes: [
      { method: 'POST', path: /^\/contents$/, kind: 'contents', headers, act: contents },
      { method: 'POST', path: /^\/search$/, kind: 'search', headers, act: search },
      { method: 'POST', path: /^\/answer$/, kind: 'answer', headers, act: answer },
      {
        ...{ method: 'POST', path: /^\/findSimilar$/, kind: 'findSimilar' },
        ...{ headers: () => ({ ...headers(), deprecation: 'true' }), act: similar },
      },
    ],
  };
}
