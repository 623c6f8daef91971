import { type ContentsRequest, type ContentsResponse, contentsEndpoint } from '../api/contents.js';
import type { UnitRecord } from '../core/journal.js';
import type { Json } from '../core/json.js';
import { buyNow, type CallOptions, failUnlessSuccess, loneOrder, type OperationResult, packed } from './buy.js';
import { contentsKeys, contentsOrder } from './contents-order.js';
import type { ActivityDeps } from './deps.js';
import { buyWhole } from './whole-request-order.js';

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
  ): Promise<OperationResult<ContentsResult | ContentsResponse>> {
    const { urls, ids, ...options } = input;
    const shared = urls && !ids && !options.context && !call?.beta && !call?.variant;
    if (!shared) return buyWhole(deps, contentsEndpoint, input, call);
    const keyOf = contentsKeys(deps, options);
    const units = [...new Set(urls)].map((unit) => ({ key: keyOf(unit), unit }));
    const order = contentsOrder(deps, { ...loneOrder(call), options, units, unitsPerRequest: 100 });
    const { records, requests } = await buyNow(deps, order);
    // Where the service answered for none of the URLs, the call as a whole failed.
    if (records.every(unanswered)) failUnlessSuccess(records[0]);
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

/** What stands in the record is ours, not the service's: refused, unreadable, or lost too often. */
function unanswered({ status, error_tag: tag, result }: UnitRecord): boolean {
  const told = typeof result === 'object' && result !== null && 'error' in result;
  return status === 'error' && (tag === 'UNKNOWN_OUTCOME' || tag === 'RESPONSE_SHAPE' || told);
}
