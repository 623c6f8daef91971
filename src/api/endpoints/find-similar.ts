import { z } from 'zod';
import { estimateSearch } from '../../core/purchase/prices.js';
import { betaOfHighlights } from '../checks/contents-options.js';
import { filled } from '../checks/fields.js';
import { searchFilters } from '../checks/search-filters.js';
import { commonAnswer, lacksResults } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const findSimilarRequest = z.looseObject({
  url: filled,
  excludeSourceDomain: z.boolean().optional(),
  ...searchFilters,
});

/** Request of `POST /findSimilar`. Unknown fields reach the wire. */
export type FindSimilarRequest = z.infer<typeof findSimilarRequest>;

const findSimilarResponse = z.looseObject(commonAnswer);
export type FindSimilarResponse = z.infer<typeof findSimilarResponse>;

/** Links similar to a URL. Deprecated by the service in favour of search. */
export const findSimilarEndpoint = defineEndpoint<FindSimilarRequest, FindSimilarResponse>({
  name: 'findSimilar',
  method: 'POST',
  path: '/findSimilar',
  paid: true,
  idempotent: false,
  retry: 'rebuy',
  estimate: (input, prices) => estimateSearch({ ...input, type: 'findSimilar' }, prices),
  request: findSimilarRequest,
  beta: ({ contents }) => betaOfHighlights(contents),
  response: findSimilarResponse,
  lacks: lacksResults,
});
