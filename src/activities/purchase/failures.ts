import { blockAfter } from '../../api/in-turn.js';
import type { ApiError } from '../../api/wire/errors.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { AllRefused } from '../call/failure.js';
import { fail, hopeless, type PurchaseContext } from './journal-writes.js';
import type { Unit } from './purchase-request.js';

/**
 * Number of requests for a unit that may be answered by another server. After the last such request, the unit ends with `UNKNOWN_OUTCOME`.
 */
const MAX_UNRECOGNIZED_TRIES = 3;
/**
 * Longest wait in ms after the service refused a start because no slot is free. The wait is short, because the list of runs shows when a
 * slot is free.
 */
const MAX_FULL_WAIT_MS = 5000;
/** The whole purchase counts as refused after the service refuses this many units with the same sentence and no unit has been bought. */
const REFUSALS_TO_FAIL = 8;

/** What follows a failed attempt. */
export type NextStep =
  /** Another attempt after a wait. */
  | { readonly type: 'retry'; readonly ms: number; readonly why: string }
  /** A request of its own for each part, because one bad URL must not make ninety-nine other URLs fail. */
  | { readonly type: 'split'; readonly parts: readonly (readonly Unit[])[] }
  | { readonly type: 'refused'; readonly unit: Unit }
  /** The units with too many unknown outcomes end. The other units get a request of their own. */
  | { readonly type: 'lost'; readonly units: readonly Unit[]; readonly parts: readonly (readonly Unit[])[] };

export class FailedAttempts {
  readonly #context: PurchaseContext;
  /**
   * Number of answers that the service had given, to any request, when another server last answered this request. Null if no other server
   * has.
   */
  #answersThen: number | null = null;

  constructor(context: PurchaseContext) {
    this.#context = context;
  }

  /**
   * Returns what follows a failed attempt. `askedAt`: when the attempt began, in Unix ms. `tries`: number of attempts before it. Throws the
   * error of a failure that no retry helps.
   */
  async next(error: ApiError, askedAt: number, units: readonly Unit[], tries: number): Promise<NextStep> {
    const { purchaseRequest, limiter, accountBreaker, stats, random } = this.#context;
    const { rateCost, longRunning } = purchaseRequest;
    const { verdict, facts, message } = error;
    const chance = random?.() ?? Math.random();
    if (!verdict.retry) {
      // A 404 with a tag may be about an earlier run that the request names. A 404 without a tag says that the service is missing.
      const namesMissing = verdict.type === 'NotFound' && facts.tag !== null && longRunning !== undefined;
      if (verdict.type === 'InvalidRequest' || namesMissing) return this.#refused(error, units);
      if (verdict.type !== 'NotFound') accountBreaker.trip(error, askedAt);
      throw error;
    }
    const blockedMs = await blockAfter(error, { limiter, rateCost, refusals: tries, chance });
    if (blockedMs !== null) {
      if (blockedMs > MAX_BLOCK_MS && !purchaseRequest.sendsOnce) throw error;
      return { type: 'retry', ms: 0, why: message };
    }
    if (verdict.charged === 'maybe') {
      const lost = units.filter(({ key }) => this.#isLost(key, error));
      this.checkService(error, askedAt, lost.length > 0);
      const rest = units.filter((unit) => !lost.includes(unit));
      if (lost.length > 0) return { type: 'lost', units: lost, parts: rest.length > 0 ? [rest] : [] };
    }
    // A gateway that refuses every request refuses the next one, too.
    else {
      const givesUp = tries + 1 >= MAX_UNRECOGNIZED_TRIES;
      const skips = givesUp && purchaseRequest.recordsAll === true;
      // A gateway that refuses this request again, and passes others on, refuses its units.
      const isOnlyThis = givesUp && this.#answersThen !== null && this.#context.health.successes > this.#answersThen;
      this.checkService(error, askedAt, givesUp && !skips);
      if (facts.unrecognized && (isOnlyThis || skips)) return this.#refused(error, units);
    }
    const full = verdict.type === 'ConcurrencyLimited';
    if (full) await stats.during(stats.lists, async () => longRunning?.slots.refused());
    const waitMs = backoffMs(tries, 1000, full ? MAX_FULL_WAIT_MS : 60_000, chance);
    return { type: 'retry', ms: Math.max(facts.retryAfterMs ?? 0, waitMs), why: message };
  }

  /**
   * Throws if an answer of another server shows that the service itself is unreachable, so that a person decides about the rows. There are
   * two signs: many answers of another server, or a unit that would end although no request got an answer since the last attempt.
   */
  checkService(error: ApiError, askedAt: number, givesUp = false): void {
    if (!error.facts.unrecognized) return;
    const { health, accountBreaker, purchaseRequest } = this.#context;
    const { unrecognized, successes } = health;
    // Requests that were sent earlier may still be answered after this request's first attempt. After the second attempt that is unlikely.
    const noAnswers = givesUp && successes === (this.#answersThen ?? successes);
    this.#answersThen = successes;
    // A call that must take effect only once is not repeated. Its caller checks the effect.
    const once = purchaseRequest.maxRebuys === 0 && !purchaseRequest.longRunning;
    if (once || (unrecognized < MAX_UNRECOGNIZED && !noAnswers)) return;
    // After a resume, calls are sent one at a time until one call succeeds.
    health.suspect();
    const stop = new ServiceUnrecognized(error, unrecognized);
    accountBreaker.trip(stop, askedAt);
    throw stop;
  }

  #refused(error: ApiError, units: readonly Unit[]): NextStep {
    const { purchaseRequest, stats } = this.#context;
    const parts = splitRefused(units, stats.acceptsNone);
    if (parts !== null) return { type: 'split', parts };
    if (purchaseRequest.refused === 'throw') throw error;
    return { type: 'refused', unit: units[0] as Unit };
  }

  /** Whether a unit has too many unknown outcomes, this error included. */
  #isLost(key: string, { facts }: ApiError): boolean {
    const tries = this.#context.stats.unknownsOf(key);
    return hopeless(this.#context, key) || (facts.unrecognized === true && tries >= MAX_UNRECOGNIZED_TRIES);
  }
}

/**
 * Splits a batch that the service refused into halves. Returns null for a single unit, because then the service refused that unit itself.
 * `alone`: the first unit gets a request of its own, and the rest is split into halves. The single unit soon shows whether the service
 * refuses every unit; the halves show whether the service accepts some units.
 */
export function splitRefused<U>(batch: readonly U[], alone = false): readonly (readonly U[])[] | null {
  if (batch.length < 2) return null;
  const from = alone ? 1 : 0;
  const half = from + Math.ceil((batch.length - from) / 2);
  return [batch.slice(0, from), batch.slice(from, half), batch.slice(half)].filter((part) => part.length > 0);
}

const tagOf = ({ facts }: ApiError): string => facts.tag ?? 'INVALID_REQUEST';

const refusalOf = ({ facts: { status, tag }, serverMessage, requestId }: ApiError): string =>
  JSON.stringify([status, tag, requestId === null ? serverMessage : serverMessage?.replaceAll(requestId, '')]);

/**
 * Units of a purchase that the service refused in a request of their own. The refusals are recorded once it is known that the purchase as a
 * whole is not refused.
 */
export class Refusals {
  readonly #context: PurchaseContext;
  readonly #refusals: { readonly unit: Unit; readonly error: ApiError }[] = [];
  /** Whether the service is known to have accepted a request of this kind before. */
  #accepted = false;

  constructor(context: PurchaseContext) {
    this.#context = context;
  }

  /**
   * Adds a refused unit. Throws if the service has accepted no request and refuses the first units for the same cause. Then the part
   * that all units share is the cause, and the service would refuse the other units, too.
   */
  async add(unit: Unit, error: ApiError): Promise<void> {
    this.#refusals.push({ unit, error });
    this.#context.failures?.failed([unit], tagOf(error));
    const isAlike = (one: { readonly error: ApiError }) => refusalOf(one.error) === refusalOf(error);
    if (!this.#isEnough() || !this.#refusals.every(isAlike)) return;
    if (!(await this.#wasAccepted()) && this.#context.stats.acceptsNone) throw this.#allRefused(error);
  }

  /**
   * Records the refusals at the end of a purchase of `units` units. Throws if all units were refused with the same status and tag. If the
   * purchase has stopped before its end and was not cancelled, only the units that were sent count.
   */
  async close(units: number, end: 'complete' | 'stopped' | 'cancelled'): Promise<void> {
    const [first] = this.#refusals;
    if (!first) return;
    const { status, tag } = first.error.facts;
    const isCommon = this.#refusals.every(({ error: { facts } }) => facts.status === status && facts.tag === tag);
    const isAll = this.#refusals.length === units || end === 'stopped';
    // A job of few rows has no more requests that could show the cause.
    const isSmall = (this.#context.purchaseRequest.rows ?? Number.POSITIVE_INFINITY) <= REFUSALS_TO_FAIL;
    if (isAll && isCommon && this.#isEnough(isSmall ? 1 : undefined) && !(await this.#wasAccepted()))
      throw this.#allRefused(first.error);
    // If a purchase was cancelled before any success, its refusals may come from another service, so they are not recorded.
    if (end === 'cancelled' && this.#context.stats.acceptsNone && !(await this.#wasAccepted())) return;
    for (const { unit, error } of this.#refusals) {
      const { facts, message } = error;
      // The refusal was counted as a failed answer when it came.
      await fail({ ...this.#context, failures: null }, [unit], tagOf(error), message, facts.status);
    }
  }

  /** Whether the service has refused enough units, and accepted none, to refuse the purchase as a whole. */
  #isEnough(most = REFUSALS_TO_FAIL): boolean {
    return this.#refusals.length >= most && this.#context.stats.acceptsNone;
  }

  /**
   * Whether requests of this kind count as right: the service accepted such a request before, or a person accepts that the service refuses
   * all units.
   */
  async #wasAccepted(): Promise<boolean> {
    const { accepted, recordsAll = false } = this.#context.purchaseRequest;
    this.#accepted ||= recordsAll || ((await accepted?.()) ?? false);
    return this.#accepted;
  }

  #allRefused(error: ApiError): AllRefused {
    return new AllRefused(error, this.#refusals.length, this.#context.purchaseRequest.rows);
  }
}
