import type { ApiError } from '../../api/wire/errors.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { backoffMs, blockMs } from '../../core/purchase/backoff.js';
import { type OverBudget, reservedMicros } from '../../core/purchase/spend.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { type Attempt, type LostStart, type PurchaseDeps, priceOf, type Running } from './attempt.js';
import type { PurchaseBudget } from './budget-gate.js';
import type { PurchaseRequest, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';
import { splitByBudget, splitRefused } from './split-batch.js';
import type { Waits } from './waits.js';

/** Repeat purchases after an unknown outcome; then the unit ends with `UNKNOWN_OUTCOME`. */
const MAX_REBUYS = 3;
/** Attempts at a unit that another server answers; then the unit ends with `UNKNOWN_OUTCOME`. */
const MAX_UNRECOGNIZED_TRIES = 3;
/** Longest wait after a refusal because no slot is free, in ms: the list of runs shows when one is free. */
const MAX_FULL_WAIT_MS = 5000;

/** The state that the requests of one purchase share. */
export interface Shared {
  readonly deps: PurchaseDeps;
  readonly purchaseRequest: PurchaseRequest;
  readonly stop: AbortSignal;
  readonly attempt: Attempt;
  readonly budget: PurchaseBudget;
  readonly stats: PurchaseStats;
  readonly waits: Waits;
  /** Buys these units with a request of their own. */
  readonly spawn: (units: readonly Unit[]) => void;
  /** Reports a refused unit; the purchase decides whether the request as a whole is refused. */
  readonly refuse: (unit: Unit, error: ApiError) => Promise<void>;
  /** Whether the service has accepted no request of this purchase. */
  readonly acceptsNone: () => boolean;
  readonly giveUp: (units: readonly Unit[]) => Promise<void>;
  /** Ends a unit without a purchase. */
  readonly record: (unit: Unit, tag: string, message: string) => Promise<void>;
}

/** Whether a unit had too many unknown outcomes to be bought again. */
export function hopeless({ purchaseRequest, stats }: Pick<Shared, 'purchaseRequest' | 'stats'>, key: string): boolean {
  return stats.unknownsOf(key) > (purchaseRequest.maxRebuys ?? MAX_REBUYS);
}

/** The message of a unit with too many unknown outcomes. */
export function lostTooOften({ maxRebuys = MAX_REBUYS }: PurchaseRequest): string {
  return `no answer landed in ${maxRebuys + 1} ${maxRebuys === 0 ? 'purchase' : 'purchases'}; it may have been charged`;
}

/** One request and its attempts until it has landed, was split, was given up or was stopped. */
export class Request {
  readonly #shared: Shared;
  #batch: readonly Unit[];
  /** The start of the last attempt, in Unix ms. */
  #askedAt = 0;
  /** The bound of a run's cost, where it has one. */
  #limitMicros: number | null;
  /** How many answers the service had given to all requests when another server last answered this one. */
  #answersThen: number | null = null;

  constructor(shared: Shared, batch: readonly Unit[]) {
    this.#shared = shared;
    this.#batch = batch;
    const { cap, mostMicros } = shared.purchaseRequest;
    this.#limitMicros =
      cap || mostMicros !== undefined ? this.#bound(shared.purchaseRequest.estimateMicros(batch)) : null;
  }

  async toEnd(): Promise<void> {
    await this.attempts();
  }

  /** Makes attempts until none is left to make. Returns the run that is, or may be, in progress; null where the request has ended. */
  async attempts(): Promise<Running | LostStart | null> {
    const { budget, attempt, waits, stop } = this.#shared;
    for (let tries = 0; ; tries++) {
      const end = await budget.pay(
        (granted) => {
          this.#askedAt = Date.now();
          return attempt.at(this.#batch, granted, this.#limitMicros);
        },
        (over) => this.#cut(over),
      );
      if (end === 'landed') return null;
      if (end === 'blocked') continue;
      if (!(end instanceof Error)) {
        if ('error' in end && end.error.facts.unrecognized) this.#checkService(end.error, false);
        return end;
      }
      const ms = await this.#handle(end, tries);
      if (ms === null) return null;
      if (ms > 0) await waits.sleep(ms, end.verdict.blocks ? 'rate limit' : end.message, stop);
    }
  }

  #bound(remainingMicros: number): number | null {
    const { longRunning } = this.#shared.purchaseRequest;
    return longRunning?.bound(this.#batch[0] as Unit, remainingMicros) ?? null;
  }

  /** Keeps the units that the budget still allows; the others get a request of their own. Throws where it allows none. */
  #cut(over: OverBudget): void {
    const { purchaseRequest, spawn } = this.#shared;
    const { remainingMicros, multiple } = over;
    const bound = this.#bound(Math.floor(remainingMicros / Math.max(1, multiple)));
    if (bound !== null && bound !== this.#limitMicros) {
      this.#limitMicros = bound;
      return;
    }
    const takes = (units: readonly Unit[]) => reservedMicros(priceOf(purchaseRequest, units, null), multiple);
    const parts = splitByBudget(this.#batch, (units) => takes(units) <= remainingMicros);
    if (parts === null) throw over;
    spawn(parts.rest);
    this.#batch = parts.first;
  }

  /** Returns the wait before the next attempt after a failure, in ms; null where there is none. */
  async #handle(error: ApiError, tries: number): Promise<number | null> {
    const { deps, spawn, giveUp } = this.#shared;
    const { verdict, facts } = error;
    const random = deps.random?.() ?? Math.random();
    if (!verdict.retry) {
      // A 404 with a tag may be about an earlier run that the request names. A 404 without a tag says that the service is missing.
      const namesMissing =
        verdict.type === 'NotFound' && facts.tag !== null && this.#shared.purchaseRequest.longRunning !== undefined;
      if (verdict.type === 'InvalidRequest' || namesMissing) {
        await this.#split(error);
        return null;
      }
      if (verdict.type !== 'NotFound') deps.accountBreaker.trip(error, this.#askedAt);
      throw error;
    }
    if (verdict.blocks) {
      const ms = facts.retryAfterMs ?? blockMs(tries, random);
      await deps.limiter.block(Math.min(ms, MAX_BLOCK_MS), error.message, this.#shared.purchaseRequest.rateCost);
      if (ms > MAX_BLOCK_MS) throw error;
      return 0;
    }
    if (verdict.charged === 'maybe') {
      const lost = this.#batch.filter(({ key }) => this.#lost(key, error));
      if (facts.unrecognized) this.#checkService(error, lost.length > 0);
      if (lost.length > 0) {
        await giveUp(lost);
        const rest = this.#batch.filter((unit) => !lost.includes(unit));
        if (rest.length > 0) spawn(rest);
        return null;
      }
    }
    const full = verdict.type === 'ConcurrencyLimited';
    const { purchaseRequest, stats } = this.#shared;
    if (full) await stats.whileListing(async () => purchaseRequest.longRunning?.slots.refused());
    return Math.max(facts.retryAfterMs ?? 0, backoffMs(tries, 1000, full ? MAX_FULL_WAIT_MS : 60_000, random));
  }

  /** Whether a unit had too many unknown outcomes, counting this error. */
  #lost(key: string, { facts }: ApiError): boolean {
    const tries = this.#shared.stats.unknownsOf(key);
    return hopeless(this.#shared, key) || (facts.unrecognized === true && tries >= MAX_UNRECOGNIZED_TRIES);
  }

  /**
   * Throws where the service itself is unreachable, so that a person decides about its rows. That is so after many answers of another
   * server, and where a unit would end though no other request got an answer since the last attempt.
   */
  #checkService(error: ApiError, givesUp: boolean): void {
    const { deps, purchaseRequest } = this.#shared;
    const { unrecognized, successes } = deps.health;
    // Requests that were sent earlier may be answered after this one's first attempt, but hardly after its second.
    const noAnswers = givesUp && successes === (this.#answersThen ?? successes);
    this.#answersThen = successes;
    // A call that acts once is not repeated; its caller checks the effect.
    const once = purchaseRequest.maxRebuys === 0 && !purchaseRequest.longRunning;
    if (once || (unrecognized < MAX_UNRECOGNIZED && !noAnswers)) return;
    // After a resume one call at a time is sent until one succeeds.
    deps.health.suspect();
    const stop = new ServiceUnrecognized(error, unrecognized);
    deps.accountBreaker.trip(stop, this.#askedAt);
    throw stop;
  }

  /** Splits a refused request until the refused unit is alone: one bad URL must not cost the ninety-nine others. */
  async #split(error: ApiError): Promise<void> {
    const { purchaseRequest, spawn, refuse, acceptsNone } = this.#shared;
    const parts = splitRefused(this.#batch, acceptsNone());
    if (parts !== null) {
      spawn(parts.first);
      spawn(parts.rest);
      return;
    }
    if (purchaseRequest.refused === 'throw') throw error;
    await refuse(this.#batch[0] as Unit, error);
  }
}
