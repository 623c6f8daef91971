import { z } from 'zod';
import { checkCount, checkDate, checkRange, firstProblem, problem, shown } from './checks.js';
import { checkContentsOptions, contentsOptions } from './contents-options.js';
import { defineEndpoint } from './endpoint.js';
import type { LimitProblem, ServiceLimits } from './limits.js';
import { commonAnswer } from './result.js';

const strings = z.array(z.string()).optional();
const date = z.string().optional();

const searchRequest = z.looseObject({
  query: z.string(),
  additionalQueries: strings,
  type: z.string().optional(),
  category: z.string().optional(),
  userLocation: z.union([z.string(), z.looseObject({})]).optional(),
  numResults: z.number().optional(),
  includeDomains: strings,
  excludeDomains: strings,
  startCrawlDate: date,
  endCrawlDate: date,
  startPublishedDate: date,
  endPublishedDate: date,
  includeText: strings,
  excludeText: strings,
  context: contentsOptions.context,
  moderation: z.boolean().optional(),
  contents: z.looseObject(contentsOptions).optional(),
  systemPrompt: z.string().optional(),
  outputSchema: z.looseObject({}).optional(),
  compliance: z.string().optional(),
  objective: z.string().optional(),
  userIdentifier: z.string().optional(),
  flags: strings,
});

/** Request of `POST /search` (interface section 4.1, public facts 2.1). Unknown fields reach the wire. */
export type SearchRequest = z.infer<typeof searchRequest>;

const searchResponse = z.looseObject({
  ...commonAnswer,
  /** What `auto` chose. The contract has both names, the live service perhaps neither. */
  searchType: z.string().nullish(),
  resolvedSearchType: z.string().nullish(),
  output: z.looseObject({ content: z.unknown().optional(), grounding: z.array(z.unknown()).nullish() }).nullish(),
  autoDate: z.string().nullish(),
});

/** Answer of `POST /search` (interface section 4.1, public facts 2.2). */
export type SearchResponse = z.infer<typeof searchResponse>;

function checkTextFilter(
  field: string,
  list: readonly string[] | undefined,
  limits: ServiceLimits,
): LimitProblem | null {
  const tooMany = checkCount(field, list, 0, limits.maxTextFilters, limits);
  if (tooMany || limits.maxTextFilterWords === null) return tooMany;
  const max = limits.maxTextFilterWords;
  for (const filter of list ?? []) {
    const words = filter.split(/\s+/).filter((word) => word !== '').length;
    if (words > max) return problem(field, `is ${shown(filter)} with ${words} words`, `at most ${max} words`, limits);
  }
  return null;
}

function checkLocation(location: SearchRequest['userLocation'], limits: ServiceLimits): LimitProblem | null {
  if (location === undefined) return null;
  const rule = 'a two-letter ISO country code is needed';
  if (typeof location === 'string') {
    return /^[a-z]{2}$/i.test(location) ? null : problem('userLocation', `is ${shown(location)}`, rule, limits);
  }
  return limits.locationObjects ? null : problem('userLocation', 'is an object', rule, limits);
}

function checkAdditionalQueries(input: SearchRequest, limits: ServiceLimits): LimitProblem | null {
  const { additionalQueries, type } = input;
  if (!additionalQueries) return null;
  if (type === undefined || !limits.deepTypes.includes(type)) {
    const rule = `only with type ${limits.deepTypes.join(', ')}`;
    return problem('additionalQueries', `is given with type ${shown(type ?? 'auto')}`, rule, limits);
  }
  return checkCount(
    'additionalQueries',
    additionalQueries,
    limits.maxAdditionalQueries === null ? 0 : 1,
    limits.maxAdditionalQueries,
    limits,
  );
}

function checkCategory(input: SearchRequest, limits: ServiceLimits): LimitProblem | null {
  const { category } = input;
  if (category === undefined || !limits.plainCategories.includes(category)) return null;
  for (const field of ['startPublishedDate', 'endPublishedDate', 'excludeDomains'] as const) {
    if (input[field] !== undefined) {
      return problem(field, `is given with category ${shown(category)}`, 'that category refuses it', limits);
    }
  }
  return null;
}

function checkSearch(input: SearchRequest, limits: ServiceLimits): LimitProblem | null {
  const dates = ['startCrawlDate', 'endCrawlDate', 'startPublishedDate', 'endPublishedDate'] as const;
  return firstProblem(
    () => (input.query.trim() === '' ? problem('query', 'is empty', 'at least 1 character', limits) : null),
    () => checkRange('numResults', input.numResults, limits.numResults, limits),
    () => checkCount('includeDomains', input.includeDomains, 0, limits.maxDomains, limits),
    () => checkCount('excludeDomains', input.excludeDomains, 0, limits.maxDomains, limits),
    () => checkTextFilter('includeText', input.includeText, limits),
    () => checkTextFilter('excludeText', input.excludeText, limits),
    () => checkAdditionalQueries(input, limits),
    () => checkLocation(input.userLocation, limits),
    ...dates.map((field) => () => checkDate(field, input[field], limits)),
    () => checkCategory(input, limits),
    () => checkContentsOptions(input.contents ?? {}, 'contents.', limits),
    // The answer would come as an event stream, paid for and unreadable here.
    () => (input.stream === true ? problem('stream', 'is true', 'this call reads a whole answer', limits) : null),
  );
}

/** Types that the public rate table meters as deep search (public facts 11). */
const deep = /^deep/;

/** Ranked results for a query, with their contents where asked for. */
export const searchEndpoint = defineEndpoint<SearchRequest, SearchResponse>({
  name: 'search',
  method: 'POST',
  path: '/search',
  section: '4.1',
  paid: true,
  idempotent: false,
  retry: 'rebuy',
  rateClass: (input) => (deep.test(input.type ?? '') ? 'search.deep' : 'search'),
  request: searchRequest,
  check: checkSearch,
  response: searchResponse,
});
