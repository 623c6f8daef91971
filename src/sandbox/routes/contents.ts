import { z } from 'zod';
import { checkInput, Refusal } from '../base/refusal.js';
import { contentsPrice, costDollars } from '../ledger/ledger.js';
import {
  type ContentsOptions,
  contentsOptionsSchema,
  contextLimit,
  purchaseOptions,
  wantedOf,
} from '../pages/contents-options.js';
import type { Crawl } from '../pages/result.js';
import { contextOf, countPages, pagesOf, type Result, resultOf } from '../pages/result.js';
import type { Route, RouteContext, Work } from '../route.js';

const operation = 'contents';
const urls = z.array(z.string().min(1).max(2048)).max(100).optional();
const schema = contentsOptionsSchema.extend({ urls, ids: urls });

/** `POST /contents`: every URL gets a status. Only successful URLs get a result and are charged. */
export const contents: Route = (input, context) => {
  const body = checkInput(schema, input);
  const asked = urlsOf(body);
  const options = purchaseOptions(body);
  return (requestId) => make(requestId, asked, body, options, context);
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

function make(
  requestId: string,
  asked: readonly string[],
  body: ContentsOptions,
  options: string,
  context: RouteContext,
): Work {
  const wanted = wantedOf(body, true);
  const results: Result[] = [];
  const statuses: unknown[] = [];
  const failed: string[] = [];
  for (const url of asked) {
    const crawl = context.crawler.crawl(url, body);
    statuses.push(statusOf(url, crawl));
    if (crawl.status === 'success') results.push(resultOf(url, wanted, body, context.options));
    else failed.push(url);
  }
  const pages = countPages(wanted, results.length * pagesOf(body));
  const limit = contextLimit(body.context);
  const answer = {
    requestId,
    results,
    ...(limit === null ? {} : { context: contextOf(results, limit) }),
    statuses,
    costDollars: costDollars(null, pages),
  };
  const units = results.map(({ url }) => url);
  return {
    body: Buffer.from(JSON.stringify(answer)),
    purchase: { operation, options, units, failed, micros: contentsPrice(pages) },
  };
}

function statusOf(url: string, crawl: Crawl): unknown {
  if (crawl.status === 'success') return { id: url, status: 'success', source: crawl.source };
  return { id: url, status: 'error', error: { tag: crawl.tag, httpStatusCode: crawl.httpStatusCode } };
}
