import { z } from 'zod';
import { canonicalJson } from '../../core/json.js';
import { contentsOptionsSchema, contextLimit, wantedOf } from '../contents-options.js';
import { hashText } from '../hash.js';
import { contentsPrice, costDollars, searchPrice } from '../prices.js';
import { Refusal } from '../refusal.js';
import { contextOf, countPages, pagesOf, resultOf } from '../result.js';
import { findUrls } from '../search-index.js';
import { checkInput, type Route } from './route.js';

const domains = z.array(z.string().min(1)).max(1200).optional();
const date = z.iso.datetime({ offset: true }).or(z.iso.date()).optional();
const phrase = z
  .array(z.string().refine((text) => text.trim().split(/\s+/).length <= 5, 'at most 5 words'))
  .max(1)
  .optional();

const schema = z
  .looseObject({
    query: z.string().min(1),
    additionalQueries: z.array(z.string().min(1)).max(10).optional(),
    type: z.string().optional(),
    category: z.string().optional(),
    userLocation: z
      .string()
      .regex(/^[A-Za-z]{2}$/, 'a two-letter country code')
      .optional(),
    numResults: z.number().int().min(1).optional(),
    includeDomains: domains,
    excludeDomains: domains,
    startCrawlDate: date,
    endCrawlDate: date,
    startPublishedDate: date,
    endPublishedDate: date,
    includeText: phrase,
    excludeText: phrase,
    context: contentsOptionsSchema.shape.context,
    moderation: z.boolean().optional(),
    contents: contentsOptionsSchema.optional(),
  })
  .refine((body) => body.additionalQueries === undefined || body.type?.startsWith('deep'), {
    path: ['additionalQueries'],
    message: 'only with type deep',
  })
  .refine(
    (body) => !isEntity(body.category) || !(body.startPublishedDate ?? body.endPublishedDate ?? body.excludeDomains),
    {
      path: ['category'],
      message: 'takes neither published dates nor excludeDomains',
    },
  );

function isEntity(category: string | undefined): boolean {
  return category === 'company' || category === 'people';
}

/** `POST /search` (section 4.1): the whole request is one unit. Finds pages that follow from the query. */
export const search: Route = (input, desk) => {
  const body = checkInput(schema, input);
  const asked = body.numResults ?? 10;
  if (asked > 100) throw new Refusal(400, 'INVALID_NUM_RESULTS', 'Invalid request body: numResults: at most 100');
  return (requestId) => {
    const contents = body.contents ?? {};
    const wanted = wantedOf(contents, false);
    const results = findUrls(body, asked, desk.pages).map((url) => resultOf(url, wanted, contents, desk.pages));
    const pages = { ...countPages(wanted, results.length * pagesOf(contents)), text: 0, highlights: 0 };
    const deep = body.type?.startsWith('deep') ?? false;
    const micros = searchPrice(body.type ?? 'auto', results.length);
    const limit = contextLimit(body.context ?? contents.context);
    const answer = {
      requestId,
      searchType: deep ? 'deep' : 'neural',
      resolvedSearchType: deep ? 'deep' : 'neural',
      results,
      ...(limit === null ? {} : { context: contextOf(results, limit) }),
      searchTime: 50 + (hashText(body.query, desk.pages.seed) % 500),
      costDollars: costDollars({ micros, deep }, pages),
    };
    const purchase = {
      operation: 'search',
      options: '',
      units: [canonicalJson(input)],
      failed: [],
      micros: micros + contentsPrice(pages),
    };
    return { body: Buffer.from(JSON.stringify(answer)), purchase };
  };
};
