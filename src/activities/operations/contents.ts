import { type ContentsRequest, type ContentsResponse, contentsEndpoint } from '../../api/endpoints/contents.js';
import type { SendOptions } from '../../api/transport.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import type { ActivityDeps } from '../base/deps.js';
import { isApiError, toFailure } from '../call/failure.js';
import { contentsKeys, contentsPurchase } from '../rows/contents-purchase.js';
import { buyNow, type CallOptions, failUnlessSuccess, lonePurchase, type OperationResult, packed } from './buy.js';
import { buyWhole, sendOptions } from './whole-request.js';

/** Most URLs of one request. */
const PER_REQUEST = 100;

interface Status {
  readonly id: string;
  readonly status: string;
  readonly [name: string]: unknown;
}

/** Result of `getContents`: the fields of interface section 4.2, put together in the order asked. */
export interface ContentsResult {
  readonly results: readonly Json[];
  readonly statuses: readonly Status[];
  /** What else the answer held, where this call bought all of it with one request. */
  readonly [name: string]: unknown;
}

/** `getContents`: page contents for a list of URLs (interface section 4.2). What has landed before is not bought again. */
export function createContentsActivity(deps: ActivityDeps) {
  return async function getContents(
    input: ContentsRequest,
    call: CallOptions = {},
  ): Promise<OperationResult<ContentsResult | ContentsResponse>> {
    const { urls, ids, ...options } = input;
    if (!urls || ids || options.context || call.variant) return buyWhole(deps, contentsEndpoint, input, call);
    const wire = sendOptions(call);
    refuseBad(deps, input, urls, wire);
    const keyOf = contentsKeys(deps, options, wire);
    const units = [...new Set(urls)].map((unit) => ({ key: keyOf(unit), unit }));
    const answers: ContentsResponse[] = [];
    const onAnswer = (answer: ContentsResponse) => void answers.push(answer);
    const what = { options, wire, units, unitsPerRequest: PER_REQUEST, onAnswer };
    const purchaseRequest = contentsPurchase(deps, { ...lonePurchase(call), ...what });
    const { records, requests } = await buyNow(deps, purchaseRequest);
    // Where the service answered for none of the URLs, the call as a whole failed.
    if (records.every(unanswered)) failUnlessSuccess(records[0]);
    const whole = requests.length === 1 && requests[0]?.bought ? answers[0] : undefined;
    const { results: _results, statuses: _statuses, ...rest } = whole ?? {};
    const data: ContentsResult = {
      results: records.filter((record) => record.status === 'success').map((record) => record.result),
      statuses: records.map(statusOf),
      ...rest,
    };
    return packed(data, purchaseRequest, requests);
  };
}

/** Refuses the request where not just some of its URLs are wrong: those are told in their statuses. */
function refuseBad(
  { transport }: ActivityDeps,
  input: ContentsRequest,
  urls: readonly string[],
  wire: SendOptions,
): void {
  for (let from = 0; from === 0 || from < urls.length; from += PER_REQUEST) {
    try {
      transport.check(contentsEndpoint, { ...input, urls: urls.slice(from, from + PER_REQUEST) }, wire);
    } catch (error) {
      if (!isApiError(error) || !error.field?.startsWith('urls[')) throw toFailure(error);
    }
  }
}

/** A status as it came: the journal keeps its fields, also those that nobody knows. */
function statusOf({ unit, status, source, error_tag: tag, http_status: httpStatusCode, told }: UnitRecord): Status {
  return {
    id: unit,
    status,
    ...(source === null ? {} : { source }),
    ...(status === 'error' ? { error: { tag, httpStatusCode } } : {}),
    ...(typeof told === 'string' ? (JSON.parse(told) as object) : typeof told === 'object' && told),
  };
}

/** What stands in the record is ours, not the service's: refused, unreadable, or lost too often. */
function unanswered({ status, error_tag: tag, result }: UnitRecord): boolean {
  const told = typeof result === 'object' && result !== null && 'error' in result;
  return status === 'error' && (tag === 'UNKNOWN_OUTCOME' || tag === 'RESPONSE_SHAPE' || told);
}
