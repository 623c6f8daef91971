import { type ContentsRequest, type ContentsResponse, contentsEndpoint } from '../../api/endpoints/contents.js';
import { URLS_PER_REQUEST } from '../../core/choices.js';
import { ruleOf } from '../../core/purchase/failure-tags.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import type { Json } from '../../core/text/json.js';
import type { CallDeps } from '../base/deps.js';
import { contentsKeys, contentsPurchase } from '../rows/contents-purchase.js';
import {
  buyNow,
  type CallOptions,
  failUnlessSuccess,
  lonePurchase,
  needsRecord,
  type OperationResult,
  packed,
  refuseTooLarge,
} from './buy.js';
import { buyWhole, checkRequest } from './whole-request.js';

interface Status {
  readonly id: string;
  readonly status: string;
  readonly [name: string]: unknown;
}

/** Result of `getContents`: the fields of `POST /contents`, in the order of the request. */
export interface ContentsResult {
  readonly results: readonly Json[];
  readonly statuses: readonly Status[];
  /** Other fields of the answer. These fields are set only if one request of this call bought the whole answer. */
  readonly [name: string]: unknown;
}

/** `getContents`: page contents for a list of URLs (API reference: /contents). Landed answers are not bought again. */
export function createContentsActivity(deps: CallDeps) {
  return async function getContents(
    input: ContentsRequest,
    call: CallOptions = {},
  ): Promise<OperationResult<ContentsResult | ContentsResponse>> {
    const { urls, ids, ...options } = input ?? {};
    // Only a list of texts is bought URL by URL. A request with any other list is refused as a whole.
    const byUrl = Array.isArray(urls) && urls.every((url) => typeof url === 'string');
    const list = [urls, ids].find(Array.isArray) ?? [];
    if (deps.alone && list.length > URLS_PER_REQUEST)
      throw needsRecord(`getContents with more than ${URLS_PER_REQUEST} URLs`);
    if (!byUrl || ids || options.context) return buyWhole(deps, contentsEndpoint, input, call);
    const wire = sendOptions(call);
    // Each URL is left to the service, which reports it in its status; an empty text is none.
    const sample = urls.find((url) => url.trim() === '') ?? 'https://example.com/';
    checkRequest(deps, contentsEndpoint, { ...input, urls: urls.slice(0, 1).map(() => sample) }, call);
    refuseTooLarge(deps, input, call);
    const keyOf = contentsKeys(deps, options, wire);
    const asked = [...new Set(urls)].map((unit) => ({ key: keyOf(unit), unit }));
    // Spellings of one page are one unit, whose answer each of them gets.
    const units = [...new Map(asked.map((unit) => [unit.key, unit])).values()];
    const answers: ContentsResponse[] = [];
    const onAnswer = (answer: ContentsResponse) => void answers.push(answer);
    const request = { options, wire, units, unitsPerRequest: URLS_PER_REQUEST, onAnswer };
    const wanted = { ...lonePurchase(call), ...request, maxRebuys: call.maxRebuys };
    const { records: landed, ...paid } = await buyNow(deps, contentsPurchase(deps, wanted));
    const recordOf = new Map(landed.map((record) => [record.key, record]));
    const records = asked.flatMap(({ key, unit }) => {
      const record = recordOf.get(key);
      return record ? [{ ...record, unit }] : [];
    });
    // If no URL got an answer, the whole call failed.
    if (records.every(unanswered)) failUnlessSuccess(records[0], { isAlone: Boolean(deps.alone) });
    const [share, ...others] = paid.requests;
    const whole = share?.bought && others.length === 0 ? answers[0] : undefined;
    const { results: _results, statuses: _statuses, ...rest } = whole ?? {};
    const data: ContentsResult = {
      results: records.filter((record) => record.status === 'success').map((record) => record.result),
      statuses: records.map(statusOf),
      ...rest,
    };
    const keys = units.map(({ key }) => key);
    return packed(deps, data, keys, paid, call);
  };
}

/** Returns the status of a URL with all fields of the answer, including unknown fields. */
function statusOf({ unit, status, source, error_tag: tag, http_status: httpStatusCode, told }: UnitRecord): Status {
  return {
    id: unit,
    status,
    source: source ?? undefined,
    error: status === 'error' ? { tag, httpStatusCode } : undefined,
    ...(typeof told === 'string' ? (JSON.parse(told) as object) : typeof told === 'object' && told),
  };
}

/** Whether the record has no status of the service: the unit was refused, is unreadable or has an unknown outcome. */
function unanswered({ status, error_tag: tag, result }: UnitRecord): boolean {
  const refused = typeof result === 'object' && result !== null && 'error' in result;
  return status === 'error' && (ruleOf(tag).answer !== undefined || refused);
}
