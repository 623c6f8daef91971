import type { RateCost } from '../../core/limiter/limiter.js';
import { ENDED_WITH_JOB } from '../../core/purchase/journal.js';
import type { StagedJob } from '../../core/rows/job.js';
import type { ActivityDeps } from '../base/deps.js';
import type { PurchaseRequest, Unit } from '../purchase/purchase.js';
import { agentPurchase } from './agent-purchase.js';
import { type ContentsOptions, contentsPurchase } from './contents-purchase.js';
import { researchPurchase } from './research-purchase.js';
import { type RowRequests, rowRequests } from './row-requests.js';

type Deps = Pick<ActivityDeps, 'transport' | 'limiter' | 'timeoutMs' | 'prices' | 'origin' | 'sha256' | 'runs'>;

/** What a slice gives each order, whatever is bought. */
export type SlicePurchase = Pick<
  PurchaseRequest,
  'segment' | 'owner' | 'units' | 'freshness' | 'known' | 'resumedAt' | 'cap'
> & {
  /** Of agent runs: starts nothing, cancels what runs. */
  readonly ending?: 'cancel';
  /** Of runs: one that takes longer (ms) is left running. */
  readonly maxRunMs?: number;
};

/** The order for some units of a row job, by the job's operation. */
export function rowPurchase(
  deps: Deps,
  staged: StagedJob,
  { ending, maxRunMs, ...slice }: SlicePurchase,
): PurchaseRequest {
  const requests = rowRequests(deps, staged);
  const { operation, batch, options, variant } = staged;
  if (requests !== null) {
    const request = <I>({ unit }: Unit) => JSON.parse(requests.requestOf(unit)) as I;
    const ends = ending && { ending, cancelledTag: ENDED_WITH_JOB };
    if (operation === 'agent') return agentPurchase(deps, { ...slice, ...ends, maxRunMs, refused: 'record', request });
    if (operation === 'research')
      return researchPurchase(deps, {
        ...slice,
        maxRunMs,
        refused: 'record',
        request,
        ...(variant === undefined ? {} : { variant }),
      });
    return requestPurchase(deps, requests, slice);
  }
  return contentsPurchase(deps, { ...slice, unitsPerRequest: batch, options: options as ContentsOptions });
}

/** An order of whole requests (interface sections 4.1, 4.3, 4.4): a unit is one, and its answer is the unit's result as it came. */
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
    send: async (units, signal) => {
      const [one] = units as readonly [Unit];
      const { result, misread, ...bought } = await requests.send(deps.transport, one.unit, signal);
      const ended = { status: 'success', errorTag: null, httpStatus: null, source: null } as const;
      return { ...bought, units: [{ ...one, ...ended, result, ...(misread === undefined ? {} : { misread }) }] };
    },
  };
}

/** Where a template gives rows different types of search, all draw as the narrowest: `search.deep` counts against `search`, too. */
function narrowest(draws: readonly RateCost[]): RateCost {
  const [first = { rateClass: 'default', weight: 1 }, ...rest] = draws;
  return rest.reduce((a, b) => (b.rateClass.length > a.rateClass.length ? b : a), first);
}
