import { z } from 'zod';
import { estimateSearch, priceTables } from '../../core/purchase/prices.js';
import { betaOfHighlights } from '../checks/contents-options.js';
import { filled, oneOf } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { searchFilters } from '../checks/search-filters.js';
import { synthesised } from '../schemas/output-schema.js';
import { commonAnswer, lacksResults } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const { findSimilar: _, ...priced } = { ...priceTables.at(-1)?.search };
const searchRequest = z.looseObject({
  query: filled,
  /** Only with a deep `type`. */
  additionalQueries: z.array(z.string()).optional(),
  /** `auto` (default), `fast`, `neural`, `deep`, or another type of the service. */
  type: oneOf(...Object.keys(priced), 'hybrid').optional(),
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
  beta: ({ contents }) => betaOfHighlights(contents),
  response: searchResponse,
  lacks: lacksResults,
});
