import type { RateCost } from '../../core/limiter/limiter.js';
import { ENDED_WITH_JOB } from '../../core/purchase/journal.js';
import { type StagedJob, sendOptions } from '../../core/rows/job.js';
import { sharesAnswers } from '../../core/rows/row-operation.js';
import type { ActivityDeps } from '../base/deps.js';
import type { PurchaseRequest, Unit } from '../purchase/purchase-request.js';
import { agentPurchase } from './agent-purchase.js';
import { type ContentsOptions, contentsPurchase } from './contents-purchase.js';
import { type RowRequests, rowRequests } from './row-requests.js';

type Deps = Pick<ActivityDeps, 'transport' | 'limiter' | 'timeoutMs' | 'prices' | 'origin' | 'sha256' | 'runs'>;

/** The slice supplies these fields of a purchase request, for all operations. */
export type SlicePurchase = Pick<
  PurchaseRequest,
  | 'segment'
  | 'owner'
  | 'units'
  | 'freshness'
  | 'known'
  | 'resumedAt'
  | 'startedAt'
  | 'cap'
  | 'workerCapMicros'
  | 'failureStop'
  | 'accepted'
  | 'recordsAll'
  | 'rows'
> & {
  /** For agent runs: if set, nothing is started and runs in progress are cancelled. */
  readonly ending?: 'cancel';
  /** For runs: the age in ms after which a run is left running. */
  readonly maxRunMs?: number;
};

/** Returns the purchase request for units of a row job. */
export function rowPurchase(
  deps: Deps,
  staged: StagedJob,
  { ending, maxRunMs, ...slice }: SlicePurchase,
): PurchaseRequest {
  const requests = rowRequests(deps, staged);
  const { operation, batch, options } = staged;
  const wire = sendOptions(staged);
  if (requests !== null) {
    const request = <I>({ unit }: Unit) => JSON.parse(requests.requestOf(unit)) as I;
    const ends = ending && { ending, cancelledTag: ENDED_WITH_JOB };
    if (operation === 'agent')
      return agentPurchase(deps, {
        ...slice,
        ...ends,
        maxRunMs,
        sharesAnswers: sharesAnswers(staged),
        refused: 'record',
        request,
        wire,
      });
    return requestPurchase(deps, requests, slice);
  }
  return contentsPurchase(deps, { ...slice, unitsPerRequest: batch, options: options as ContentsOptions, wire });
}

/** Returns a purchase request whose units are whole requests. The result of a unit is its answer, byte for byte. */
function requestPurchase(deps: Deps, requests: RowRequests, slice: SlicePurchase): PurchaseRequest {
  return {
    ...slice,
    operation: requests.name,
    refused: 'record',
    rateCost: narrowest(slice.units.map(({ unit }) => requests.rateCost(unit))),
    unitsPerRequest: 1,
    timeoutMs: deps.timeoutMs,
    estimateMicros: (units) => {
      const prices = deps.prices();
      return units.reduce((sum, { unit }) => sum + requests.estimateMicros(unit, prices), 0);
    },
    listMicros: (units) => {
      const prices = deps.prices();
      return units.reduce((sum, { unit }) => sum + requests.listMicros(unit, prices), 0);
    },
    tier: ([one]) => (one ? requests.tier(one.unit) : ''),
    send: async (units, how) => {
      const [one] = units as readonly [Unit];
      const { result, misread, ...bought } = await requests.send(deps.transport, one.unit, how);
      const ended = { status: 'success', errorTag: null, httpStatus: null, source: null } as const;
      return { ...bought, units: [{ ...one, ...ended, result, misread }] };
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
