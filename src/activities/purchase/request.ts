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

/** How often a unit with unknown outcomes is bought again. After the last repeat the unit ends with `UNKNOWN_OUTCOME`. */
const MAX_REBUYS = 3;
/**
 * Number of requests for a unit that may be answered by another server. After the last such request, the unit ends with `UNKNOWN_OUTCOME`.
 */
const MAX_UNRECOGNIZED_TRIES = 3;
/**
 * Longest wait in ms after the service refused a start because no slot is free. The wait is short, because the list of runs shows when a
 * slot is free.
 */
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
  /** Reports a refused unit. The purchase then decides whether the whole purchase is refused. */
  readonly refuse: (unit: Unit, error: ApiError) => Promise<void>;
  /** Whether the service has not accepted any request of this purchase. */
  readonly acceptsNone: () => boolean;
  readonly giveUp: (units: readonly Unit[]) => Promise<void>;
  /** Ends a unit as failed without a purchase. */
  readonly record: (unit: Unit, tag: string, message: string) => Promise<void>;
}

/** Whether a unit has too many unknown outcomes to be bought again. */
export function hopeless({ purchaseRequest, stats }: Pick<Shared, 'purchaseRequest' | 'stats'>, key: string): boolean {
  return stats.unknownsOf(key) > (purchaseRequest.maxRebuys ?? MAX_REBUYS);
}

/** The message of a unit with too many unknown outcomes. */
export function lostTooOften({ maxRebuys = MAX_REBUYS }: PurchaseRequest): string {
  return `no answer landed in ${maxRebuys + 1} ${maxRebuys === 0 ? 'purchase' : 'purchases'}; it may have been charged`;
}

/** One request and its attempts. A request ends when its units have landed, or when it was split, given up or stopped. */
export class Request {
  readonly #shared: Shared;
  #batch: readonly Unit[];
  /** The start of the last attempt, in Unix ms. */
  #askedAt = 0;
  /** The bound of a run's cost; null if there is none. */
  #limitMicros: number | null;
  /**
   * Number of answers that the service had given, to any request, when another server last answered this request. Null if no other server
   * has.
   */
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

  /** Makes attempts until the request has ended. Returns a run that is in progress or may be in progress; otherwise null. */
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

  /**
   * Makes the request smaller to fit the budget: lowers the bound of a run, or passes units on to another request. Throws if the budget
   * does not allow a single unit.
   */
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

  /** Handles a failure. Returns the wait in ms before the next attempt; null if there is no next attempt. */
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

  /** Whether a unit has too many unknown outcomes, this error included. */
  #lost(key: string, { facts }: ApiError): boolean {
    const tries = this.#shared.stats.unknownsOf(key);
    return hopeless(this.#shared, key) || (facts.unrecognized === true && tries >= MAX_UNRECOGNIZED_TRIES);
  }

  /**
   * Throws if the service itself is unreachable, so that a person decides about the rows. There are two signs: many answers of another
   * server, or a unit that would end although no request got an answer since the last attempt.
   */
  #checkService(error: ApiError, givesUp: boolean): void {
    const { deps, purchaseRequest } = this.#shared;
    const { unrecognized, successes } = deps.health;
    // Requests that were sent earlier may still be answered after this request's first attempt. After the second attempt that is unlikely.
    const noAnswers = givesUp && successes === (this.#answersThen ?? successes);
    this.#answersThen = successes;
    // A call that must take effect only once is not repeated. Its caller checks the effect.
    const once = purchaseRequest.maxRebuys === 0 && !purchaseRequest.longRunning;
    if (once || (unrecognized < MAX_UNRECOGNIZED && !noAnswers)) return;
    // After a resume, calls are sent one at a time until one call succeeds.
    deps.health.suspect();
    const stop = new ServiceUnrecognized(error, unrecognized);
    deps.accountBreaker.trip(stop, this.#askedAt);
    throw stop;
  }

  /**
   * Splits a refused request until the refused unit is in a request of its own, so that one bad URL does not make ninety-nine other URLs
   * fail.
   */
  async #split(error: ApiError): Promise<void> {
    const { purchaseRequest, spawn, refuse, acceptsNone } = this.#shared;
    const parts = splitRefused(this.#batch, acceptsNone());
    if (parts !== null) {
      for (const part of parts) spawn(part);
      return;
    }
    if (purchaseRequest.refused === 'throw') throw error;
    await refuse(this.#batch[0] as Unit, error);
  }
}
