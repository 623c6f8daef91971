import { type ContentsRequest, contentsEndpoint } from '../api/contents.js';
import type { Json } from '../core/json.js';
import { estimateContents } from '../core/prices.js';
import { buyNow, type CallOptions, failUnlessSuccess, loneOrder, type OperationResult, packed } from './buy.js';
import { contentsKeys, contentsOrder } from './contents-order.js';
import type { ActivityDeps } from './deps.js';
import { wholeRequestOrder } from './whole-request-order.js';

/** Result of `getContents`: the fields of interface section 4.2, put together in the order asked. */
export interface ContentsResult {
  readonly results: readonly Json[];
  readonly statuses: readonly { readonly id: string; readonly status: string; readonly [name: string]: Json }[];
}

/** `getContents`: page contents for a list of URLs (interface section 4.2). What has landed before is not bought again. */
export function createContentsActivity(deps: ActivityDeps) {
  return async function getContents(
    input: ContentsRequest,
    call?: CallOptions,
  ): Promise<OperationResult<ContentsResult | Json>> {
    const { urls, ids, ...options } = input;
    if (options.context || ids || !urls) {
      const estimate = estimateContents(options as Record<string, Json>, urls?.length ?? ids?.length ?? 1);
      const order = wholeRequestOrder(deps, contentsEndpoint, input, { ...loneOrder(call), estimate });
      const { records, requests } = await buyNow(deps, order);
      return packed(failUnlessSuccess(records[0]).result, order, requests);
    }
    const keyOf = contentsKeys(deps, options);
    const units = [...new Set(urls)].map((unit) => ({ key: keyOf(unit), unit }));
    const order = contentsOrder(deps, { ...loneOrder(call), options, units, unitsPerRequest: 100 });
    const { records, requests } = await buyNow(deps, order);
    const data: ContentsResult = {
      results: records.filter((record) => record.status === 'success').map((record) => record.result),
      statuses: records.map((record) => ({
        id: record.unit,
        status: record.status,
        ...(record.source === null ? {} : { source: record.source }),
        ...(record.status === 'error' ? { error: { tag: record.error_tag, httpStatusCode: record.http_status } } : {}),
      })),
    };
    return packed(data, order, requests);
  };
}
