import { z } from 'zod';
import { checkInput, Refusal } from '../base/refusal.js';
import { contentsPrice, costDollars } from '../ledger/ledger.js';
import { contentsOptionsSchema, contextLimit, purchaseOptions, wantedOf } from '../pages/contents-options.js';
import { type Crawl, contextOf, countPages, pagesOf, resultOf } from '../pages/result.js';
import { jsonWork, type Route } from '../route.js';

const urls = z.array(z.string().min(1).max(2048)).max(100).optional();
const schema = contentsOptionsSchema.extend({ urls, ids: urls });

/** `POST /contents`: every URL gets a status. Only successful URLs get a result and are charged. */
export const contents: Route = (input, context) => {
  const body = checkInput(schema, input);
  const asked = urlsOf(body);
  const wanted = wantedOf(body, true);
  return (requestId) => {
    const crawls = asked.map((url) => ({ url, crawl: context.crawler.crawl(url, body) }));
    const urlsWith = (status: Crawl['status']) =>
      crawls.flatMap(({ url, crawl }) => (crawl.status === status ? [url] : []));
    const results = urlsWith('success').map((url) => resultOf(url, wanted, body, context.options));
    const pages = countPages(wanted, results.length * pagesOf(body));
    const limit = contextLimit(body.context);
    const answer = {
      requestId,
      results,
      context: limit === null ? undefined : contextOf(results, limit),
      statuses: crawls.map(statusOf),
      costDollars: costDollars(null, pages),
    };
    const units = results.map(({ url }) => url);
    const bought = { units, failed: urlsWith('error'), micros: contentsPrice(pages) };
    return jsonWork(answer, { purchase: { operation: 'contents', options: purchaseOptions(body), ...bought } });
  };
};

function urlsOf({ urls, ids, subpages }: z.infer<typeof schema>): readonly string[] {
  if (urls && ids) throw new Refusal(400, 'INVALID_REQUEST_BODY', 'Invalid request body: send urls or ids, not both');
  const asked = urls ?? ids ?? [];
  if (asked.length === 0)
    throw new Refusal(400, 'INVALID_URLS', 'Invalid request body: urls: at least one URL is needed');
  if ((subpages ?? 0) * asked.length > 100) {
    throw new Refusal(400, 'SUBPAGES_LIMIT_EXCEEDED', 'Invalid request body: subpages: more than 100 in one request');
  }
  return asked;
}

function statusOf({ url, crawl }: { readonly url: string; readonly crawl: Crawl }): unknown {
  if (crawl.status === 'success') return { id: url, status: 'success', source: crawl.source };
  return { id: url, status: 'error', error: { tag: crawl.tag, httpStatusCode: crawl.httpStatusCode } };
}
