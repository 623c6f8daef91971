import type { Answer } from '../../api/answer/read-answer.js';
import { fieldOf } from '../../api/checks/field-of.js';
import { type ContentsRequest, type ContentsResponse, contentsEndpoint } from '../../api/endpoints/contents.js';
import { listOf, type MatchedUnit, matchContents } from '../../api/endpoints/match.js';
import type { SendOptions } from '../../api/transport.js';
import { rateCostOf } from '../../api/wire/endpoint.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import { estimateContents } from '../../core/purchase/prices.js';
import { keyOptions, pageUrlOf, unitKeys } from '../../core/purchase/unit-key.js';
import { type Json, RawJson } from '../../core/text/json.js';
import type { ActivityDeps } from '../base/deps.js';
import { rawResults } from '../call/landing.js';
import type { AnyPurchase, PurchaseRequest, Unit } from '../purchase/purchase-request.js';
import { withoutContents } from './empty-answers.js';

/** Name of the operation in keys and segments. */
const CONTENTS = 'contents';

export type ContentsOptions = Omit<ContentsRequest, 'urls' | 'ids'>;

/** Returns the key function of URLs for these options. All spellings of a page have the same key. */
export function contentsKeys(
  deps: Pick<ActivityDeps, 'origin' | 'sha256'>,
  options: ContentsOptions,
  wire: SendOptions = {},
): (url: string) => string {
  const keyOf = unitKeys(deps.sha256, deps.origin, CONTENTS, keyOptions(options, wire));
  return (url) => keyOf(pageUrlOf(url));
}

/**
 * Returns a purchase request for page contents. A unit is one URL, so that equal URLs of different requests are bought once. With `context`
 * the answer belongs to all URLs of the request: then the unit is the whole request as a JSON text.
 */
export function contentsPurchase(
  deps: Pick<ActivityDeps, 'transport' | 'timeoutMs' | 'prices'>,
  wanted: AnyPurchase & {
    readonly unitsPerRequest: number;
    readonly options: ContentsOptions;
    /** Beta tokens and headers, which are part of the keys. */
    readonly wire?: SendOptions;
    /** Called with each answer before it lands. */
    readonly onAnswer?: (answer: ContentsResponse) => void;
  },
): PurchaseRequest {
  const { options, wire, onAnswer, ...purchaseRequest } = wanted;
  const input = (units: readonly Unit[]): ContentsRequest => ({ ...options, urls: units.map((unit) => unit.unit) });
  return {
    ...purchaseRequest,
    operation: CONTENTS,
    refused: 'record',
    rateCost: rateCostOf(contentsEndpoint, input([])),
    timeoutMs: deps.timeoutMs,
    estimateMicros: (units) => estimateContents(options, units.length, deps.prices()),
    send: async (units, how) => {
      const answer = await deps.transport.send(contentsEndpoint, input(units), { ...wire, ...how });
      const { data, requestId, costMicros, queued, warnings } = answer;
      onAnswer?.(data);
      const outcomes = contentsOutcomes(units, answer);
      const nothing = nothingOf(outcomes, answer, options);
      return { requestId, costMicros, queued, warnings, nothing, units: outcomes };
    },
  };
}

/**
 * Returns why an answer has no page that was requested; null if it has one, names the errors of most pages, or has an empty list of results
 * and nothing else. Pages for other URLs, or one page for all of them, are no pages that were requested.
 */
function nothingOf(
  outcomes: readonly Pick<UnitOutcome, 'status' | 'errorTag' | 'httpStatus'>[],
  { data, misread }: Pick<Answer<ContentsResponse>, 'data' | 'misread'>,
  options: ContentsOptions,
): string | null {
  const { results, statuses } = data;
  const error = fieldOf(data, 'error');
  const isMisread = misread.some(({ path }) => path[0] === 'statuses');
  const tags = new Set((statuses ?? []).map(({ error }) => error?.tag?.trim()));
  const isNamed = ({ status, errorTag, httpStatus }: (typeof outcomes)[number]) =>
    status === 'error' && (httpStatus !== null || tags.has(errorTag ?? ''));
  const isMost = (count: number) => 2 * count >= outcomes.length;
  const named = outcomes.filter(isNamed).length;
  if (named > 0 && isMost(named)) return null;
  const pages = outcomes.filter(({ status }) => status === 'success').length;
  if (results.length === 0) {
    const said = statuses ?? [];
    // One page without content is an answer; several successes without any page are none.
    const isAnswer = said.length === 0 || (outcomes.length === 1 && said.every(({ status }) => status === 'success'));
    return isAnswer && !isMisread && !error ? null : 'it has no results, and names no errors';
  }
  if (pages === 0) return 'none of its results belongs to a requested URL';
  if (2 * pages <= outcomes.length && isMost(results.length - pages))
    return 'many of its results belong to no requested URL';
  return withoutContents(results, options);
}

export function contentsOutcomes(
  units: readonly Unit[],
  answer: Pick<Answer<ContentsResponse>, 'data' | 'misread' | 'raw' | 'rawList'>,
): Omit<UnitOutcome, 'costMicros'>[] {
  const matched = matchContents(
    units.map((unit) => unit.unit),
    answer.data,
    { raw: rawResults(answer), misread: answer.misread },
  );
  // Results that match no unit were paid for, so they are kept with the first unit without a result.
  const { unmatched } = matched;
  const surplus = new RawJson(`{"unmatched":${listOf(unmatched).text}}`);
  const empty = unmatched.length > 0 ? matched.units.find((match) => match.result === null) : undefined;
  return matched.units.map((match, index) => ({
    key: (units[index] as Unit).key,
    unit: match.url,
    status: match.status,
    errorTag: match.errorTag,
    httpStatus: match.httpStatus,
    source: match.source,
    wholeStatus: match.wholeStatus,
    misread: match.misread,
    result: match === empty ? surplus : (match.result ?? statusInstead(match)),
  }));
}

/**
 * Returns the whole status of a unit without a result. The status is kept as the result, so that the warehouse has the status's unknown
 * fields.
 */
function statusInstead({ wholeStatus: status }: MatchedUnit): Json {
  return status === undefined ? null : { status };
}
