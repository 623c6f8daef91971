import { z } from 'zod';
import { checkInput, Refusal } from '../base/refusal.js';
import { hashText } from '../base/sentences.js';
import { DONE_FRAME, sseFrame } from '../base/sse.js';
import { contentsPrice, costDollars, searchPrice } from '../ledger/ledger.js';
import { requestPurchase } from '../ledger/log-file.js';
import { contentsOptionsSchema, contextLimit, wantedOf } from '../pages/contents-options.js';
import { contextOf, countPages, findUrls, hostOf, pagesOf, resultOf } from '../pages/result.js';
import { checkOutputSchema, groundingOf, outputSchemaSchema, piecesOf, writeAbout } from '../pages/synthesis.js';
import { type Frames, jsonWork, type Route, type RouteContext } from '../route.js';

const domains = z.array(z.string().min(1)).max(1200).optional();
const date = z.iso.datetime({ offset: true }).or(z.iso.date()).optional();
const phrase = z
  .array(z.string().refine((text) => text.trim().split(/\s+/).length <= 5, 'at most 5 words'))
  .max(1)
  .optional();

const country = z.string().regex(/^[A-Za-z]{2}$/, 'a two-letter country code');

/** `userLocation`: a country, or a location object as newer clients send it. */
export const userLocationSchema = z
  .union([country, z.looseObject({ country: country.optional(), latitude: z.number().optional() })])
  .optional();

/** Fields that `/search` and `/findSimilar` share. */
const searchFilters = {
  category: z.string().optional(),
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
};

interface SearchAnswer {
  readonly requestId: string;
  readonly results: readonly { readonly url: string; readonly id?: unknown; readonly title?: unknown }[];
  readonly output: { readonly content: unknown; readonly grounding: readonly unknown[] };
  readonly searchTime: number;
  readonly costDollars: unknown;
  readonly warnings?: readonly unknown[];
}

/** The answer of a search as a stream: text, grounding, results, done, `[DONE]`. */
function searchFrames(answer: SearchAnswer): Frames {
  return function* frames() {
    const { requestId, results, output, searchTime, costDollars, warnings } = answer;
    if (warnings) yield sseFrame({ requestId, warnings });
    for (const [index, delta] of piecesOf(output.content).entries()) {
      const role = index === 0 ? { role: 'assistant' } : {};
      const choices = [{ index: 0, delta: { ...role, content: delta }, finish_reason: null }];
      yield sseFrame({ type: 'text-delta', requestId, delta, choices });
    }
    const citations = results.map(({ id, url, title }) => ({ id, url, title }));
    const choices = [{ index: 0, delta: { citations }, finish_reason: 'stop' }];
    yield sseFrame({ type: 'grounding', requestId, grounding: output.grounding, citations, choices });
    yield sseFrame({ type: 'results', requestId, results });
    yield sseFrame({ type: 'done', requestId, output, searchTime, costDollars });
    yield DONE_FRAME;
  };
}

const schema = z
  .looseObject({
    query: z.string().min(1),
    additionalQueries: z.array(z.string().min(1)).max(10).optional(),
    type: z.string().optional(),
    userLocation: userLocationSchema,
    ...searchFilters,
    systemPrompt: z.string().optional(),
    objective: z.string().max(4096).optional(),
    outputSchema: outputSchemaSchema.optional(),
    stream: z.boolean().optional(),
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

/**
 * `POST /search`: finds pages that follow from the query. With `outputSchema` it also writes the requested output. With
 * `stream` it answers with a stream. The whole request is one unit in both cases.
 */
export const search: Route = (input, context) => {
  const body = checkInput(schema, input);
  checkOutputSchema(body.outputSchema);
  const asked = body.numResults ?? 10;
  if (asked > 100) throw new Refusal(400, 'INVALID_NUM_RESULTS', 'Invalid request body: numResults: at most 100');
  return (requestId) => {
    const found = findPages(body, body, context);
    const deep = body.type?.startsWith('deep') ?? false;
    const micros = searchPrice(body.type ?? 'auto', found.results.length);
    const content = body.outputSchema && writeAbout(body.query, body.outputSchema, context.options.seed);
    const ignored = (['startCrawlDate', 'endCrawlDate'] as const).filter((name) => body[name] !== undefined);
    const answer = {
      requestId,
      searchType: deep ? 'deep' : 'neural',
      resolvedSearchType: deep ? 'deep' : 'neural',
      results: found.results,
      ...(content === undefined ? {} : { output: { content, grounding: groundingOf(content, found.results) } }),
      ...found.context,
      searchTime: 50 + (hashText(body.query, context.options.seed) % 500),
      costDollars: costDollars({ micros, deep }, found.pages),
      ...(ignored.length > 0 ? { warnings: ignored.map(ignoredWarning) } : {}),
    };
    const { stream: _, ...unit } = input as Record<string, unknown>;
    const purchase = requestPurchase('search', unit, micros + contentsPrice(found.pages));
    if (body.stream && answer.output) return { body: searchFrames({ ...answer, output: answer.output }), purchase };
    return jsonWork(answer, { purchase });
  };
};

function ignoredWarning(name: string): unknown {
  return { code: 'IGNORED_FIELD', path: `/${name}`, message: `${name} is ignored` };
}

interface PageWishes {
  readonly numResults?: number | undefined;
  readonly contents?: z.infer<typeof searchFilters.contents>;
  readonly context?: z.infer<typeof searchFilters.context>;
}

/** Finds the results that match the filters, with the requested contents, and counts the paid pages. */
function findPages(filters: Parameters<typeof findUrls>[0], wishes: PageWishes, context: RouteContext) {
  const contents = wishes.contents ?? {};
  const wanted = wantedOf(contents, false);
  const urls = findUrls(filters, wishes.numResults ?? 10, context.options);
  const results = urls.map((url) => resultOf(url, wanted, contents, context.options));
  const limit = contextLimit(wishes.context ?? contents.context);
  return {
    results,
    context: limit === null ? {} : { context: contextOf(results, limit) },
    pages: { ...countPages(wanted, results.length * pagesOf(contents)), text: 0, highlights: 0 },
  };
}

const similarSchema = z.looseObject({
  url: z.string().min(3).max(2048),
  excludeSourceDomain: z.boolean().optional(),
  ...searchFilters,
});

/**
 * `POST /findSimilar`: pages similar to the page of the request, at the price of a search. A header says that the operation is
 * deprecated.
 */
export const findSimilar: Route = (input, context) => {
  const body = checkInput(similarSchema, input);
  if ((body.numResults ?? 10) > 100) {
    throw new Refusal(400, 'INVALID_NUM_RESULTS', 'Invalid request body: numResults: at most 100');
  }
  return (requestId) => {
    const source = body.excludeSourceDomain ? [hostOf(body.url)] : [];
    const excludeDomains = [...(body.excludeDomains ?? []), ...source];
    const found = findPages({ ...body, query: `like ${body.url}`, excludeDomains }, body, context);
    const micros = searchPrice('neural', found.results.length);
    const answer = {
      requestId,
      results: found.results,
      ...found.context,
      costDollars: costDollars({ micros, deep: false }, found.pages),
    };
    const purchase = requestPurchase('findSimilar', input, micros + contentsPrice(found.pages));
    return jsonWork(answer, { purchase, headers: { deprecation: 'true' } });
  };
};
