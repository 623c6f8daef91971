import { z } from 'zod';
import { estimateAnswer } from '../../core/purchase/prices.js';
import { toDollars } from '../../core/text/money.js';
import type { Settings } from '../base/options.js';
import { badBody } from '../base/refusal.js';
import { hashText, mix } from '../base/sentences.js';
import { saleOf } from '../ledger/log-file.js';
import { contentsPrice, costDollars, prices, searchPrice } from '../ledger/prices.js';
import { DONE_FRAME, type Routes, route, sseFrame } from '../route.js';
import { contentsOptions, purchaseOptions, wantedOf } from './contents-options.js';
import type { Crawler } from './crawler.js';
import { findUrls, hostOf } from './page.js';
import { contextOf, countPages, pagesOf, resultOf } from './result.js';
import { checkOutputSchema, checkSchema, groundingOf, outputSchema, piecesOf, writeAbout } from './synthesis.js';

const domains = z.array(z.string().min(1)).max(1200).optional();
const date = z.iso.datetime({ offset: true }).or(z.iso.date()).optional();
const phrase = z
  .array(z.string().refine((text) => text.trim().split(/\s+/).length <= 5, 'at most 5 words'))
  .max(1)
  .optional();
const country = z.string().regex(/^[A-Za-z]{2}$/, 'a two-letter country code');
/** A country, or a location object as newer clients send it. */
const userLocation = z
  .union([country, z.looseObject({ country: country.optional(), latitude: z.number().optional() })])
  .optional();

/** Fields that `/search` and `/findSimilar` share. */
const searchFields = {
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
  context: contentsOptions.shape.context,
  moderation: z.boolean().optional(),
  contents: contentsOptions.optional(),
};

const searchBody = z
  .looseObject({
    query: z.string().min(1),
    additionalQueries: z.array(z.string().min(1)).max(10).optional(),
    type: z.string().default('auto'),
    userLocation,
    ...searchFields,
    systemPrompt: z.string().optional(),
    objective: z.string().max(4096).optional(),
    outputSchema: outputSchema.optional(),
    stream: z.boolean().optional(),
  })
  .refine((body) => body.additionalQueries === undefined || body.type.startsWith('deep'), {
    path: ['additionalQueries'],
    message: 'only with type deep',
  })
  .refine(
    ({ category, startPublishedDate, endPublishedDate, excludeDomains }) =>
      !['company', 'people'].includes(category ?? '') || !(startPublishedDate ?? endPublishedDate ?? excludeDomains),
    { path: ['category'], message: 'takes neither published dates nor excludeDomains' },
  );

const similarBody = z.looseObject({
  url: z.string().min(3).max(2048),
  excludeSourceDomain: z.boolean().optional(),
  ...searchFields,
});

type SearchBody = z.infer<typeof searchBody>;
type Filters = z.infer<z.ZodObject<typeof searchFields>> & { readonly query: string };

/** Finds the results that match the filters of a request, with the requested contents, and their price. */
function findPages(type: string, body: Filters, options: Settings) {
  const { numResults = 10, contents = {} } = body;
  if (numResults > 100) throw badBody('numResults: at most 100', 'INVALID_NUM_RESULTS');
  const wanted = wantedOf(contents);
  const results = findUrls(body, numResults, options).map((url) => resultOf(url, wanted, contents, options));
  const context = contextOf(results, body.context ?? contents.context);
  const pages = { ...countPages(wanted, results.length * pagesOf(contents)), text: 0, highlights: 0 };
  const micros = searchPrice(type, results.length);
  const cost = costDollars(pages, micros, type.startsWith('deep'));
  return { results, context, costDollars: cost, micros: micros + contentsPrice(pages) };
}

function searchAnswer(requestId: string, body: SearchBody, options: Settings) {
  const { query, type, outputSchema } = body;
  checkOutputSchema(outputSchema);
  const { results, context, costDollars, micros } = findPages(type, body, options);
  const searchType = type.startsWith('deep') ? 'deep' : 'neural';
  const content = outputSchema && writeAbout(query, outputSchema, options.seed);
  const ignored = (['startCrawlDate', 'endCrawlDate'] as const).filter((name) => body[name] !== undefined);
  const warnings = ignored.map((name) => ({ code: 'IGNORED_FIELD', path: `/${name}`, message: `${name} is ignored` }));
  const answer = {
    ...{ requestId, searchType, resolvedSearchType: searchType, results },
    output: outputSchema && { content, grounding: groundingOf(content, results) },
    context,
    searchTime: 50 + (hashText(query, options.seed) % 500),
    costDollars,
    warnings: ignored.length > 0 ? warnings : undefined,
  };
  return { answer, micros };
}

/** The answer of a search as a stream: text, grounding, results, done, `[DONE]`. */
function* searchFrames(answer: ReturnType<typeof searchAnswer>['answer']): Iterable<string> {
  const { requestId, results, output, searchTime, costDollars, warnings } = answer;
  if (warnings) yield sseFrame({ requestId, warnings });
  for (const [index, delta] of piecesOf(output?.content).entries()) {
    const role = index === 0 ? { role: 'assistant' } : {};
    const choices = [{ index: 0, delta: { ...role, content: delta }, finish_reason: null }];
    yield sseFrame({ type: 'text-delta', requestId, delta, choices });
  }
  const citations = results.map(({ id, url, title }) => ({ id, url, title }));
  const choices = [{ index: 0, delta: { citations }, finish_reason: 'stop' }];
  yield sseFrame({ type: 'grounding', requestId, grounding: output?.grounding, citations, choices });
  yield sseFrame({ type: 'results', requestId, results });
  yield sseFrame({ type: 'done', requestId, output, searchTime, costDollars });
  yield DONE_FRAME;
}

/** The chunks of a streamed answer: text, citations, cost, `[DONE]`. */
function* answerFrames(id: string, content: unknown, ...last: readonly object[]): Iterable<string> {
  const chunk = (delta: object, finish_reason: string | null) =>
    sseFrame({ id, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  yield chunk({ role: 'assistant', content: '' }, null);
  for (const piece of piecesOf(content)) yield chunk({ content: piece }, null);
  yield chunk({}, 'stop');
  for (const frame of last) yield sseFrame(frame);
  yield DONE_FRAME;
}

const ANSWER_MICROS = estimateAnswer(prices);

const urls = z.array(z.string().min(1).max(2048)).max(100).optional();
const contentsBody = contentsOptions.extend({ urls, ids: urls });

function urlsOf({ urls, ids, subpages = 0 }: z.infer<typeof contentsBody>): readonly string[] {
  if (urls && ids) throw badBody('send urls or ids, not both');
  const asked = urls ?? ids ?? [];
  if (asked.length === 0) throw badBody('urls: at least one URL is needed', 'INVALID_URLS');
  if (subpages * asked.length > 100) {
    throw badBody('subpages: more than 100 in one request', 'SUBPAGES_LIMIT_EXCEEDED');
  }
  return asked;
}

export const pageRoutes = (crawler: Crawler, options: Settings): Routes => ({
  /**
   * Finds pages that follow from the query. With `outputSchema` it also writes the requested output; with `stream` it then answers with a
   * stream. The whole request is one unit in both cases.
   */
  'POST /search': route({
    body: searchBody,
    queued: true,
    work: ({ requestId, body, input }) => {
      const { answer, micros } = searchAnswer(requestId, body, options);
      const frames = body.stream && answer.output ? () => searchFrames(answer) : undefined;
      return { json: answer, frames, purchase: saleOf('search', input, micros) };
    },
  }),
  /** Pages similar to the page of the request, at the price of a search. */
  'POST /findSimilar': route({
    body: similarBody,
    queued: true,
    work: ({ requestId, body, input }) => {
      const { url, excludeSourceDomain, excludeDomains = [] } = body;
      const excluded = [...excludeDomains, ...(excludeSourceDomain ? [hostOf(url)] : [])];
      const filters = { ...body, query: `like ${url}`, excludeDomains: excluded };
      const { micros, ...found } = findPages('neural', filters, options);
      const purchase = saleOf('findSimilar', input, micros);
      return { json: { requestId, ...found }, purchase, headers: { deprecation: 'true' } };
    },
  }),
  /** Every URL gets a status. Only successful URLs get a result and are charged. */
  'POST /contents': route({
    body: contentsBody,
    queued: true,
    work: ({ requestId, body }) => {
      const statuses = urlsOf(body).map((url) => ({ id: url, ...crawler.crawl(url, body) }));
      const urlsWith = (status: string) => statuses.filter((one) => one.status === status).map(({ id }) => id);
      const wanted = wantedOf(body);
      const isBare = Object.values(wanted).every((option) => option === null);
      const kinds = isBare ? { ...wanted, text: {} } : wanted;
      const units = urlsWith('success');
      const results = units.map((url) => resultOf(url, kinds, body, options));
      const pages = countPages(kinds, results.length * pagesOf(body));
      const context = contextOf(results, body.context);
      const bought = { units, failed: urlsWith('error'), micros: contentsPrice(pages) };
      return {
        json: { requestId, results, context, statuses, costDollars: costDollars(pages) },
        purchase: { operation: 'contents', options: purchaseOptions(body), ...bought },
      };
    },
  }),
  /** Answers a question, with citations. With a schema the answer is an object. */
  'POST /answer': route({
    body: z.looseObject({
      query: z.string().min(1),
      stream: z.boolean().optional(),
      text: z.boolean().optional(),
      model: z.enum(['exa', 'exa-pro', 'exa-research', 'exa-fast']).optional(),
      systemPrompt: z.string().optional(),
      userLocation: userLocation.nullable(),
      outputSchema: z.record(z.string(), z.unknown()).optional(),
    }),
    queued: true,
    work: ({ requestId, body, input }) => {
      const { query, text, outputSchema = null } = body;
      checkSchema(outputSchema, 'outputSchema');
      const content = writeAbout(query, outputSchema, options.seed);
      const found = findUrls({ query }, 3 + (mix(hashText(query, options.seed), 141) % 5), options);
      const citations = found.map((url) => resultOf(url, wantedOf({ text }), {}, options));
      const costDollars = { total: toDollars(ANSWER_MICROS) };
      const frames = () => answerFrames(requestId, content, { citations }, { costDollars, requestId });
      const purchase = saleOf('answer', input, ANSWER_MICROS);
      const json = { requestId, answer: content, citations, costDollars };
      return { json, frames: body.stream ? frames : undefined, purchase };
    },
  }),
});
