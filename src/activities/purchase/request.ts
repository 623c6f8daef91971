import type { ApiError } from '../../api/wire/errors.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { backoffMs, blockMs } from '../../core/purchase/backoff.js';
import { type OverBudget, reservedMicros } from '../../core/purchase/spend.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { type Attempt, type LostStart, type PurchaseDeps, priceOf, type Running } from './attempt.js';
import type { PurchaseBudget } from './budget-gate.js';
import type { PurchaseRequest, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';
import type { Waits } from './waits.js';

/** A unit whose answer got lost this often beyond the first time is given up: tag `UNKNOWN_OUTCOME`. */
const MAX_REBUYS = 3;
/** A unit that was asked for so often, each time answered by something that is not the service, is given up. */
const MAX_UNRECOGNIZED_TRIES = 3;
/** Longest wait after the service said that no place is free: who takes it is known from its list. */
const MAX_FULL_WAIT_MS = 5000;

/** What a request shares with the others of its purchase. */
export interface Shared {
  readonly deps: PurchaseDeps;
  readonly purchaseRequest: PurchaseRequest;
  readonly stop: AbortSignal;
  readonly attempt: Attempt;
  readonly budget: PurchaseBudget;
  readonly stats: PurchaseStats;
  readonly waits: Waits;
  /** Buys these by a request of their own. */
  readonly spawn: (units: readonly Unit[]) => void;
  /** The service refuses this unit, or the request as a whole: who knows them all decides. */
  readonly refuse: (unit: Unit, error: ApiError) => void;
  readonly giveUp: (units: readonly Unit[]) => Promise<void>;
  /** Ends a unit without a purchase of its own. */
  readonly record: (unit: Unit, tag: string, message: string) => Promise<void>;
}

/** Whether a unit got lost too often to be bought once more. */
export function hopeless({ purchaseRequest, stats }: Pick<Shared, 'purchaseRequest' | 'stats'>, key: string): boolean {
  return stats.unknownsOf(key) > (purchaseRequest.maxRebuys ?? MAX_REBUYS);
}

/** Why such a unit is given up, in words. */
export function lostTooOften({ maxRebuys = MAX_REBUYS }: PurchaseRequest): string {
  return `no answer landed in ${maxRebuys + 1} ${maxRebuys === 0 ? 'purchase' : 'purchases'}, perhaps charged all the same`;
}

/** One request and its attempts, to its end: landed, split, given up, or stopped. */
export class Request {
  readonly #shared: Shared;
  #batch: readonly Unit[];
  /** When the last attempt began, in Unix ms. */
  #askedAt = 0;
  /** What a run may cost at most, where it is bounded. */
  #limitMicros: number | null;
  /** Answers of the service, to whomever, when this request last got one that was not the service's. */
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

  /** Attempts until nothing is left to try. Answers with what runs, or may run, at the service; null where it ended otherwise. */
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
      const ms = await this.#weigh(end, tries);
      if (ms === null) return null;
      if (ms > 0) await waits.sleep(ms, end.verdict.blocks ? 'rate limit' : end.message, stop);
    }
  }

  #bound(remainingMicros: number): number | null {
    const { longRunning } = this.#shared.purchaseRequest;
    return longRunning?.bound(this.#batch[0] as Unit, remainingMicros) ?? null;
  }

  /** Keeps as many units as the budget still pays for, the rest wait for their own end; throws where not one is paid for. */
  #cut(over: OverBudget): void {
    const { purchaseRequest, spawn } = this.#shared;
    const { remainingMicros, multiple } = over;
    const bound = this.#bound(Math.floor(remainingMicros / Math.max(1, multiple)));
    if (bound !== null && bound !== this.#limitMicros) {
      this.#limitMicros = bound;
      return;
    }
    const takes = (units: readonly Unit[]) => reservedMicros(priceOf(purchaseRequest, units, null), multiple);
    let units = this.#batch.length - 1;
    while (units > 0 && takes(this.#batch.slice(0, units)) > remainingMicros) units--;
    if (units === 0) throw over;
    spawn(this.#batch.slice(units));
    this.#batch = this.#batch.slice(0, units);
  }

  /** Decides how a failed request goes on: after so many milliseconds, or not (null). */
  async #weigh(error: ApiError, tries: number): Promise<number | null> {
    const { deps, spawn, giveUp } = this.#shared;
    const { verdict, facts } = error;
    const random = deps.random?.() ?? Math.random();
    if (!verdict.retry) {
      // A run may name an earlier one that isn't there; without a tag it is the service that isn't.
      const namesMissing =
        verdict.type === 'NotFound' && facts.tag !== null && this.#shared.purchaseRequest.longRunning !== undefined;
      if (verdict.type === 'InvalidRequest' || namesMissing) {
        this.#split(error);
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
    if (full) await this.#shared.purchaseRequest.longRunning?.slots.refused();
    return Math.max(facts.retryAfterMs ?? 0, backoffMs(tries, 1000, full ? MAX_FULL_WAIT_MS : 60_000, random));
  }

  /** Whether a unit got lost too often, this time with `error`. */
  #lost(key: string, { facts }: ApiError): boolean {
    const tries = this.#shared.stats.unknownsOf(key);
    return hopeless(this.#shared, key) || (facts.unrecognized === true && tries >= MAX_UNRECOGNIZED_TRIES);
  }

  /**
   * Throws where it is not this request but the service that nobody reaches: after so many answers that are not its own, or where
   * a unit is about to be given up and nobody else has got an answer meanwhile. A person decides what its rows come to.
   */
  #checkService(error: ApiError, givesUp: boolean): void {
    const { deps, purchaseRequest } = this.#shared;
    const { unrecognized, successes } = deps.health;
    // Calls that were sent before the service went away may be answered behind the first try of this one, hardly behind the second.
    const nobody = givesUp && successes === (this.#answersThen ?? successes);
    this.#answersThen = successes;
    // What acts only once is over: whoever asked for it looks for what it did.
    const once = purchaseRequest.maxRebuys === 0 && !purchaseRequest.longRunning;
    if (once || (unrecognized < MAX_UNRECOGNIZED && !nobody)) return;
    // Whoever resumes sends one call at a time, until there is an answer.
    deps.health.suspect();
    const stop = new ServiceUnrecognized(error, unrecognized);
    deps.accountBreaker.trip(stop, this.#askedAt);
    throw stop;
  }

  /** A refused request is split until the refused unit is alone: one bad URL must not cost its ninety-nine neighbours. */
  #split(error: ApiError): void {
    const { purchaseRequest, spawn, refuse } = this.#shared;
    const [first] = this.#batch;
    if (first && this.#batch.length === 1) {
      if (purchaseRequest.refused === 'throw') throw error;
      refuse(first, error);
      return;
    }
    const half = Math.ceil(this.#batch.length / 2);
    spawn(this.#batch.slice(0, half));
    spawn(this.#batch.slice(half));
  }
}
