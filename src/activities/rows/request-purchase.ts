import type { RateCost } from '../../core/limiter/limiter.js';
import { SUCCESS } from '../../core/purchase/journal.js';
import type { ActivityDeps } from '../base/deps.js';
import type { AnyPurchase, PurchaseRequest, Unit } from '../purchase/purchase-request.js';
import type { RowRequests } from './row-requests.js';

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
