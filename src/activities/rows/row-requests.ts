import { createAgentRunEndpoint, getAgentRunEndpoint } from '../../api/endpoints/agent-runs.js';
import { answerEndpoint } from '../../api/endpoints/answer.js';
import { contentsEndpoint } from '../../api/endpoints/contents.js';
import { searchEndpoint } from '../../api/endpoints/search.js';
import type { Input, Transport } from '../../api/transport.js';
import { type AnyEndpoint, type Endpoint, rateCostOf } from '../../api/wire/endpoint.js';
import type { SentWith } from '../../core/base-schemas.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { RateCost } from '../../core/limiter/limiter.js';
import { SUCCESS } from '../../core/purchase/journal.js';
import { listSearch, type PriceTable } from '../../core/purchase/prices.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { requestUnit, unitKeys } from '../../core/purchase/unit-key.js';
import { isRowOperation, type RowOperation } from '../../core/rows/row-operation.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import type { ActivityDeps } from '../base/deps.js';
import { type Landing, landingOf } from '../call/landing.js';
import type { AnyPurchase, Bought, PurchaseRequest, SendAs, Unit } from '../purchase/purchase-request.js';
import { agentKeys } from './agent-purchase.js';
import { type ContentsOptions, contentsKeys } from './contents-purchase.js';
import { nothingIn } from './empty-answers.js';

export type RowRequestFacts = Pick<StagedJob, 'operation' | 'options' | keyof SentWith>;
type KeyDeps = Pick<ActivityDeps, 'origin' | 'sha256'>;

/**
 * Makes requests from the rows of a job whose units are whole requests. A request has the rendered fields of a row and the options that all
 * rows share. A forgotten unit has no text, so its request has only the options.
 */
export type RowRequests = ReturnType<typeof bind>;

interface RowKind {
  readonly endpoint: AnyEndpoint;
  /** The endpoint whose answer lands; default: the same. */
  readonly lands?: AnyEndpoint;
  /** Makes the requests of a job; null for pages, whose units are URLs. */
  readonly requests: ((deps: KeyDeps, facts: RowRequestFacts) => RowRequests) | null;
}

export const rowKinds: Readonly<Record<RowOperation, RowKind>> = {
  contents: { endpoint: contentsEndpoint, requests: null },
  search: {
    endpoint: searchEndpoint,
    requests: (deps, facts) => bind(deps, facts, searchEndpoint, { list: listSearch }),
  },
  answer: { endpoint: answerEndpoint, requests: (deps, facts) => bind(deps, facts, answerEndpoint) },
  agent: {
    endpoint: createAgentRunEndpoint,
    lands: getAgentRunEndpoint,
    requests: (deps, facts) => bind(deps, facts, createAgentRunEndpoint, { key: agentKeys(deps, sendOptions(facts)) }),
  },
};

/** Returns the requests of a job's operation; null for contents, whose units are URLs, and for an operation of another version. */
export function rowRequests(deps: KeyDeps, facts: RowRequestFacts): RowRequests | null {
  return (isRowOperation(facts.operation) && rowKinds[facts.operation].requests?.(deps, facts)) || null;
}

export function keysOfJob(deps: KeyDeps, facts: RowRequestFacts): (unit: string) => string {
  return rowRequests(deps, facts)?.keyOf ?? contentsKeys(deps, facts.options as ContentsOptions, sendOptions(facts));
}

function bind<I, O>(
  { sha256, origin }: KeyDeps,
  { options, unchecked, ...facts }: RowRequestFacts,
  endpoint: Endpoint<I, O>,
  { key, list }: { key?: (request: string) => string; list?: (input: I, prices: PriceTable) => number } = {},
) {
  const send = sendOptions(facts);
  const { name, estimate } = endpoint;
  const ownKey = key ?? unitKeys(sha256, origin, name, send);
  const request = (unit: string) => ({ ...options, ...(JSON.parse(unit || '{}') as Record<string, Json>) });
  // The request was checked against the endpoint's types when its row was staged, and is checked again before it is sent.
  const input = (unit: string) => request(unit) as Input<I> & I;
  return {
    /** Name of the operation in keys and segments. A single call uses the same name, so that equal requests share their answer. */
    name,
    requestOf: (unit: string) => canonicalJson(request(unit)),
    /** Returns the key of a unit. The key covers the whole request, so that only equal requests share a key. */
    keyOf: (unit: string) => ownKey(requestUnit(request(unit))),
    rateCost: (unit: string) => rateCostOf(endpoint, input(unit)),
    /** Returns the most that the request may cost, in micro-dollars. */
    estimateMicros: (unit: string, prices: PriceTable) => estimate(input(unit), prices),
    /** Returns the cost of the request by the price table, in micro-dollars. This cost may be lower than the estimate. */
    listMicros: (unit: string, prices: PriceTable) => (list ?? estimate)(input(unit), prices),
    tier: (unit: string) => endpoint.tier(input(unit)),
    /** Throws `ApiError` if the service would refuse the request; sends nothing. */
    check: (transport: Pick<Transport, 'check'>, unit: string) =>
      transport.check(endpoint, input(unit), { ...send, unchecked }),
    async send(
      transport: Pick<Transport, 'send'>,
      unit: string,
      how: SendAs,
    ): Promise<Omit<Bought, 'units'> & Landing> {
      const answer = await transport.send(endpoint, input(unit), { ...send, ...how });
      return {
        nothing: nothingIn(request(unit), answer.data as object),
        requestId: answer.requestId,
        costMicros: answer.costMicros,
        queued: answer.queued,
        warnings: answer.warnings,
        ...landingOf(answer),
      };
    },
  };
}

/** Returns a purchase request whose units are whole requests. The result of a unit is its answer, byte for byte. */
export function requestPurchase(
  deps: Pick<ActivityDeps, 'transport' | 'timeoutMs' | 'prices'>,
  requests: RowRequests,
  slice: AnyPurchase,
): PurchaseRequest {
  const sumOf = (microsOf: RowRequests['listMicros']) => (units: readonly Unit[]) => {
    const prices = deps.prices();
    return units.reduce((sum, { unit }) => sum + microsOf(unit, prices), 0);
  };
  return {
    ...slice,
    operation: requests.name,
    refused: 'record',
    rateCost: narrowest(slice.units.map(({ unit }) => requests.rateCost(unit))),
    unitsPerRequest: 1,
    timeoutMs: deps.timeoutMs,
    estimateMicros: sumOf(requests.estimateMicros),
    listMicros: sumOf(requests.listMicros),
    tier: ([one]) => (one ? requests.tier(one.unit) : ''),
    send: async (units, how) => {
      const [one] = units as readonly [Unit];
      const { result, misread, ...bought } = await requests.send(deps.transport, one.unit, how);
      return { ...bought, units: [{ ...one, ...SUCCESS, result, misread }] };
    },
  };
}

/**
 * Returns the rate cost of rows with different types of search: the cost with the most specific rate class. `search.deep` is more specific
 * than `search`, because calls of `search.deep` count against both classes.
 */
function narrowest(costs: readonly RateCost[]): RateCost {
  const [first = { rateClass: 'default', weight: 1 }, ...rest] = costs;
  return rest.reduce((a, b) => (b.rateClass.length > a.rateClass.length ? b : a), first);
}
