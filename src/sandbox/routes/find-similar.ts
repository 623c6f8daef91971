import { z } from 'zod';
import { checkInput, Refusal } from '../base/refusal.js';
import { contentsPrice, costDollars, searchPrice } from '../ledger/ledger.js';
import { requestPurchase } from '../ledger/log-file.js';
import { hostOf } from '../pages/result.js';
import { jsonWork, type Route } from '../route.js';
import { findPages, searchFilters } from './search.js';

const schema = z.looseObject({
  url: z.string().min(3).max(2048),
  excludeSourceDomain: z.boolean().optional(),
  ...searchFilters,
});

/**
 * `POST /findSimilar`: pages similar to the page of the request, at the price of a search. A header says that the operation is
 * deprecated.
 */
export const findSimilar: Route = (input, context) => {
  const body = checkInput(schema, input);
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
