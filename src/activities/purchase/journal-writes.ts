import { setTimeout as delay } from 'node:timers/promises';
import type { Limiter } from '../../core/limiter/limiter.js';
import { GRANT_AHEAD_MS } from '../../core/limiter/rate.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { forgottenOutcome } from '../../core/purchase/forgotten.js';
import type { CallJournal, Claimed, MissFacts, Started, UnitOutcome } from '../../core/purchase/journal.js';
import { OverBudget, type Price } from '../../core/purchase/spend.js';
import type { KnownAnswer } from '../../core/rows/row-warehouse.js';
import { splitMicros } from '../../core/text/money.js';
import type { AccountBreaker, CircuitBreaker } from '../call/circuit-breaker.js';
import type { InFlight } from '../call/in-flight.js';
import type { BudgetGate } from './budget-gate.js';
import type { PurchaseFailures } from './failure-gate.js';
import type { Bought, PurchaseRequest, RunFacts, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

export interface PurchaseDeps {
  readonly journal: CallJournal;
  readonly limiter: Limiter;
  readonly inFlight: InFlight;
  readonly health: CircuitBreaker;
  readonly accountBreaker: AccountBreaker;
  readonly random?: () => number;
}

/** What all requests of one purchase share. */
export interface PurchaseContext extends PurchaseDeps {
  readonly purchaseRequest: PurchaseRequest;
  /** When aborted: nothing more is sent, and requests in flight land. */
  readonly stop: AbortSignal;
  /** When aborted: requests in flight are ended. */
  readonly cut: AbortSignal;
  readonly gate: BudgetGate;
  /** Null or absent: the purchase has no job. */
  readonly failures?: PurchaseFailures | null;
  readonly stats: PurchaseStats;
}

/** The units of one request. */
export interface Batch {
  readonly units: readonly Unit[];
  /** The bound of a run's cost, which is sent with the request; null for no bound. */
  readonly limitMicros: number | null;
}

/** An open intent. Times in Unix ms. */
export interface OpenIntent {
  readonly id: string;
  readonly estimateMicros: number;
  readonly listMicros: number;
  /** The amount that the intent takes from the cap of this purchase. */
  readonly takenMicros: number;
  readonly at: number;
  /** The time after which the answer is overdue. */
  readonly deadline: number;
}

/** How often a unit with unknown outcomes is bought again. After the last repeat the unit ends with `UNKNOWN_OUTCOME`. */
const MAX_REBUYS = 3;
/** The most characters of a tier. A tier may come from a row, so its text can have any length. */
const MAX_TIER = 64;
/** The most bytes that are kept of an unreadable answer. */
const MAX_KEPT_BYTES = 65_536;

/** Whether a unit has too many unknown outcomes to be bought again. */
export function hopeless({ purchaseRequest, stats }: PurchaseContext, key: string): boolean {
  return stats.unknownsOf(key) > (purchaseRequest.maxRebuys ?? MAX_REBUYS);
}

export function priceOf(purchaseRequest: PurchaseRequest, { units, limitMicros }: Batch): Required<Price> {
  const estimateMicros = limitMicros ?? purchaseRequest.estimateMicros(units);
  return { estimateMicros, listMicros: limitMicros ?? purchaseRequest.listMicros?.(units) ?? estimateMicros };
}

/** Writes the intent of a request. Returns the refusal if the request would exceed a cap; then nothing was written. */
export async function intend(context: PurchaseContext, batch: Batch): Promise<OpenIntent | OverBudget> {
  const { purchaseRequest, journal, stats } = context;
  const { owner, segment, operation, timeoutMs, cap, mostMicros } = purchaseRequest;
  const price = priceOf(purchaseRequest, batch);
  const takenMicros = stats.reserve(mostMicros, price);
  if (takenMicros instanceof OverBudget) return takenMicros;
  stats.opened(takenMicros);
  const at = Date.now();
  const deadline = at + GRANT_AHEAD_MS + timeoutMs;
  try {
    const tier = purchaseRequest.tier?.(batch.units).slice(0, MAX_TIER);
    const keys = batch.units.map((unit) => unit.key);
    const began = performance.now();
    const id = await journal.intend({ owner, segment, operation, tier, keys, ...price, deadline, cap });
    stats.intendMs = Math.max(performance.now() - began, 0.98 * stats.intendMs);
    return { id, ...price, takenMicros, at, deadline };
  } catch (error) {
    stats.closed(takenMicros);
    if (error instanceof OverBudget) return error;
    throw error;
  }
}

/** Takes over an open intent of an earlier attempt. */
export function adopt(
  { purchaseRequest, stats }: PurchaseContext,
  unit: Unit,
  { intentId, at }: Pick<Started, 'intentId' | 'at'>,
  deadline: number,
): OpenIntent {
  const price = priceOf(purchaseRequest, { units: [unit], limitMicros: null });
  stats.opened(price.estimateMicros);
  return { id: intentId, ...price, takenMicros: price.estimateMicros, at, deadline };
}

/** Records the run of an open intent, so that another attempt can take the run over. `run` is null if the start created no run. */
export function note(
  { journal, purchaseRequest }: PurchaseContext,
  intentId: string,
  facts: RunFacts | { readonly run: null },
): Promise<void> {
  return persist(() => journal.note(intentId, purchaseRequest.owner, { ...facts }));
}

/** Lands an answer. The cost of the answer is split over its units. */
export async function land(
  { journal, stats, purchaseRequest, failures }: PurchaseContext,
  { id, estimateMicros, listMicros, takenMicros, at }: OpenIntent,
  bought: Bought,
): Promise<void> {
  const total = bought.costMicros ?? estimateMicros;
  const answered = bought.units;
  const charged = answered.filter(({ status }) => status === 'success').length;
  // Failures are free, unless the answer cost as much as its successes and a failure: then each unit may have been charged, and has a share.
  const mostOfSuccesses = (estimateMicros * (charged + 0.5)) / answered.length;
  const areFree = charged > 0 && (bought.costMicros ?? 0) <= mostOfSuccesses;
  const hasShare = ({ status }: Pick<UnitOutcome, 'status'>) => status === 'success' || !areFree;
  const shares = splitMicros(total, areFree ? charged : answered.length);
  let share = 0;
  const { paidBy } = purchaseRequest;
  const by = paidBy === undefined ? undefined : { call: paidBy, estimated: bought.costMicros === null || undefined };
  const units = answered.map((unit): UnitOutcome => withCost(unit, hasShare(unit) ? (shares[share++] ?? 0) : 0, by));
  await persist(() => journal.land(id, { requestId: bought.requestId, fetchedAt: Date.now(), units }));
  stats.requests++;
  stats.bought += units.length;
  stats.failed += units.length - charged;
  stats.landed += units.length;
  stats.closed(takenMicros);
  stats.learn(listMicros, total, units);
  stats.costMicros += total;
  if (at < (purchaseRequest.startedAt ?? 0)) stats.earlierMicros += Math.min(total, takenMicros);
  failures?.landed(units, bought.nothing ?? null);
  failures?.hear(bought.warnings);
}

/** The fields are named, because the copies of a spread have different shapes, which all later code reads more slowly. */
function withCost(unit: Omit<UnitOutcome, 'costMicros'>, costMicros: number, by: UnitOutcome['by']): UnitOutcome {
  const { key, unit: text, status, errorTag, httpStatus, source, result, wholeStatus, misread } = unit;
  return { key, unit: text, status, errorTag, httpStatus, source, costMicros, by, result, wholeStatus, misread };
}

/** Closes an intent without a readable answer; `body` is the text that came instead, `facts` how the service answered. */
export async function miss(
  { journal, stats }: PurchaseContext,
  { id, takenMicros }: OpenIntent,
  reason: string,
  charged: 'never' | 'maybe',
  { body, facts: { status, retryAfterMs } = {} }: { readonly body?: string | null; readonly facts?: MissFacts } = {},
): Promise<void> {
  await journal.miss(id, reason, charged, { status, retryAfterMs, body: body && firstBytes(body, MAX_KEPT_BYTES) });
  stats.closed(takenMicros);
  if (charged === 'never') return;
  stats.unknownOutcomes++;
  stats.unknownMicros += takenMicros;
}

/** Ends units as failed without a purchase. */
export async function fail(
  { journal, purchaseRequest, stats, failures }: PurchaseContext,
  units: readonly Unit[],
  tag: string,
  message: string,
  httpStatus: number | null = null,
): Promise<void> {
  const { owner, segment, operation } = purchaseRequest;
  const result = { error: message };
  const outcomes = units.map((unit) => ({ ...failed(unit, tag, httpStatus), result, costMicros: 0 }));
  await journal.recordOutcomes(owner, segment, operation, outcomes);
  stats.landed += units.length;
  stats.failed += units.length;
  failures?.failed(units, tag);
}

/** Ends units that have too many unknown outcomes. */
export function giveUp(context: PurchaseContext, units: readonly Unit[]): Promise<void> {
  const { maxRebuys = MAX_REBUYS } = context.purchaseRequest;
  const purchases = `${maxRebuys + 1} ${maxRebuys === 0 ? 'purchase' : 'purchases'}`;
  return fail(context, units, 'UNKNOWN_OUTCOME', `no answer landed in ${purchases}; the request may have been charged`);
}

/** Records the units of forgotten rows, which have no text, so that they are not bought even if the journal was lost. */
async function recordForgotten(context: PurchaseContext, claimed: readonly Claimed[]): Promise<readonly Claimed[]> {
  const { owner, segment, operation, units } = context.purchaseRequest;
  const empty = new Set(units.flatMap(({ key, unit }) => (unit === '' ? [key] : [])));
  if (empty.size === 0) return claimed;
  const found = claimed.filter(({ key, started }) => !started && empty.has(key));
  if (found.length === 0) return claimed;
  const outcomes = found.map(({ key }) => forgottenOutcome(key));
  await context.journal.recordOutcomes(owner, segment, operation, outcomes);
  context.stats.landed += found.length;
  return claimed.filter((one) => !found.includes(one));
}

/** Records answers that are known elsewhere and that the journal lacks; returns the units that are left to buy. */
export async function recordKnown(context: PurchaseContext, claimed: readonly Claimed[]): Promise<readonly Claimed[]> {
  const { owner, segment, operation, known } = context.purchaseRequest;
  const mine = await recordForgotten(context, claimed);
  if (!known || mine.length === 0) return mine;
  const answers = await known(mine.filter(({ started }) => !started).map(({ key }) => key));
  const requests = new Map<string, KnownAnswer[]>();
  for (const answer of answers) {
    const request = `${answer.requestId} ${answer.fetchedAt}`;
    requests.set(request, [...(requests.get(request) ?? []), answer]);
  }
  for (const batch of requests.values()) {
    const outcomes = batch.map(({ outcome }) => outcome);
    await context.journal.recordOutcomes(owner, segment, operation, outcomes, batch[0]);
    context.stats.landed += outcomes.length;
  }
  const adopted = new Set(answers.map(({ outcome }) => outcome.key));
  return mine.filter(({ key }) => !adopted.has(key));
}

export function failed(unit: Unit, tag: string, httpStatus: number | null): Omit<UnitOutcome, 'costMicros'> {
  return { ...unit, status: 'error', errorTag: tag, httpStatus, source: null, result: null };
}

/** Makes a write to the disk, with retries for some seconds, because a full disk may get space again. */
async function persist(write: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (attempt >= 5) throw error;
      await delay(backoffMs(attempt, 200, 5000, 0.5));
    }
  }
}

function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most ? text : bytes.subarray(0, most).toString();
}
