import { type SearchRequest, searchEndpoint } from '../api/search.js';
import type { Json } from '../core/json.js';
import { estimateSearch } from '../core/prices.js';
import { buyNow, type CallOptions, failUnlessSuccess, loneOrder, type OperationResult, packed } from './buy.js';
import type { ActivityDeps } from './deps.js';
import { wholeRequestOrder } from './whole-request-order.js';

/** `search`: ranked results for a query (interface section 4.1). The same request is not bought twice. */
export function createSearchActivity(deps: ActivityDeps) {
  return async function search(input: SearchRequest, call?: CallOptions): Promise<OperationResult<Json>> {
    const order = wholeRequestOrder(deps, searchEndpoint, input, {
      ...loneOrder(call),
      estimate: estimateSearch(input),
    });
    const { records, requests } = await buyNow(deps, order);
    return packed(failUnlessSuccess(records[0]).result, order, requests);
  };
}
