import { z } from 'zod';
import { estimateSearch } from '../../core/purchase/prices.js';
import { checkCount, checkRange, checkText, firstProblem, problem, shown } from '../checks/checks.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';
import { checkFilters, searchFilters } from '../checks/search-filters.js';
import { checkLocation, userLocation } from '../schemas/location.js';
import { checkOutputSchema, outputSchema, synthesised } from '../schemas/output-schema.js';
import { commonAnswer, lacksResults } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const searchRequest = z.looseObject({
  query: z.string(),
  /** Only with a deep `type`. */
  additionalQueries: z.array(z.string()).optional(),
  /** `auto` (default), `fast`, `neural`, `deep`, or another type of the service. */
  type: z
    .string()
    .meta({ examples: ['auto', 'fast', 'neural', 'deep'] })
    .optional(),
  userLocation: userLocation.optional(),
  ...searchFilters,
  moderation: z.boolean().optional(),
  systemPrompt: z.string().optional(),
  outputSchema: outputSchema.optional(),
  compliance: z.string().optional(),
  objective: z.string().optional(),
  userIdentifier: z.string().optional(),
});

/** Request of `POST /search`. Unknown fields reach the wire. */
export type SearchRequest = z.infer<typeof searchRequest>;

const searchResponse = z.looseObject({
  ...commonAnswer,
  /** The type that `auto` chose. The contract has this field and `resolvedSearchType`; the live service may send neither field. */
  searchType: z.string().nullish(),
  resolvedSearchType: z.string().nullish(),
  output: synthesised.nullish(),
  autoDate: z.string().nullish(),
});

/** Answer of `POST /search`. */
export type SearchResponse = z.infer<typeof searchResponse>;

function checkAdditionalQueries(input: SearchRequest, limits: ServiceLimits): LimitProblem | null {
  const { additionalQueries, type } = input;
  if (!additionalQueries) return null;
  if (type === undefined || !limits.deepTypes.includes(type)) {
    const rule = `it is only allowed with type ${limits.deepTypes.join(', ')}`;
    return problem('additionalQueries', `is combined with type ${shown(type ?? 'auto')}`, rule, limits);
  }
  return checkCount(
    'additionalQueries',
    additionalQueries,
    limits.maxAdditionalQueries === null ? 0 : 1,
    limits.maxAdditionalQueries,
    limits,
  );
}

function checkContext(context: SearchRequest['context'], limits: ServiceLimits): LimitProblem | null {
  if (typeof context !== 'object') return null;
  const range = { min: 1, max: limits.maxContext, integer: true };
  return checkRange('context.maxCharacters', context.maxCharacters, range, limits);
}

function checkSearch(input: SearchRequest, limits: ServiceLimits): LimitProblem | null {
  return firstProblem(
    () => checkText('query', input.query, null, limits),
    () => checkAdditionalQueries(input, limits),
    () => checkLocation(input.userLocation, limits),
    () => checkFilters(input, limits),
    () => checkContext(input.context, limits),
    () => checkText('objective', input.objective, limits.maxObjective, limits),
    () => checkOutputSchema(input.outputSchema, limits),
    () => noStream(input, limits),
  );
}

/** Refuses `stream`: the service would charge for an event stream, which this call cannot read. */
export function noStream(input: { readonly [field: string]: unknown }, limits: ServiceLimits): LimitProblem | null {
  const rule = 'this call reads a whole answer; use the streamed form';
  return input.stream === true ? problem('stream', 'is true', rule, limits) : null;
}

/** Types that count as deep search in the public rate table (API reference: rate limits). */
const deep = /^deep/;

/** Ranked results for a query, with page contents where requested. */
export const searchEndpoint = defineEndpoint<SearchRequest, SearchResponse>({
  name: 'search',
  method: 'POST',
  path: '/search',
  paid: true,
  idempotent: false,
  retry: 'rebuy',
  estimate: estimateSearch,
  tier: ({ type }) => type ?? 'auto',
  rateClass: (input) => (deep.test(input.type ?? '') ? 'search.deep' : 'search'),
  request: searchRequest,
  check: checkSearch,
  response: searchResponse,
  lacks: lacksResults,
});
