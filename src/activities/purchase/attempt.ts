import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../../api/wire/errors.js';
import type { Grant, Limiter } from '../../core/limiter/limiter.js';
import { GRANT_AHEAD_MS } from '../../core/limiter/rate.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import type { Journal, Started, UnitOutcome } from '../../core/purchase/journal.js';
import { OverBudget, type Price } from '../../core/purchase/spend.js';
import { splitMicros } from '../../core/text/money.js';
import type { AccountBreaker } from '../call/account-breaker.js';
import type { CircuitBreaker } from '../call/circuit-breaker.js';
import { isApiError } from '../call/failure.js';
import type { InFlight } from '../call/in-flight.js';
import type { Bought, Control, PurchaseRequest, RunFacts, RunSlots, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

export interface PurchaseDeps {
  readonly journal: Journal;
  readonly limiter: Limiter;
  readonly inFlight: InFlight;
  readonly health: CircuitBreaker;
  readonly accountBreaker: AccountBreaker;
  readonly random?: () => number;
}

/** An open intent. Times in Unix ms. */
export interface Asked {
  readonly id: string;
  readonly estimateMicros: number;
  readonly listMicros: number;
  /** The amount that the intent takes from the cap of this purchase. */
  readonly takenMicros: number;
  readonly at: number;
  /** The time after which the answer is overdue. */
  readonly deadline: number;
}

/** A start that was answered: its run is noted and in progress. */
export interface Running {
  readonly asked: Asked;
  readonly facts: RunFacts;
}

/** A start without an answer. The run that the start may have created is searched for. */
export interface LostStart {
  readonly asked: Asked;
  readonly error: ApiError;
}

/**
 * How an attempt ended. `blocked`: a block held the request back, so the request was not sent. An `ApiError` is returned, so that the
 * caller decides about a retry.
 */
export type AttemptEnd = 'landed' | 'blocked' | Running | LostStart | ApiError | OverBudget;

/** The most bytes that are kept of an unreadable answer. */
const MAX_KEPT_BYTES = 65_536;

/** The progress of an attempt. */
interface Course {
  sent: boolean;
  result: 'succeeded' | 'failed' | 'undecided';
  /** Another server answered. */
  unrecognized: boolean;
}

/** The most characters of a tier. A tier may come from a row, so its text can have any length. */
const MAX_TIER = 64;

/** Identifies a run of this purchase at the service, by the unit's key and the intent's id. */
export const tagOf = (unit: Unit, intentId: string): string => `${unit.key}/${intentId}`;

/**
 * Makes single attempts at a purchase request. An attempt takes a slot and a turn, writes the intent, sends the request and records the
 * outcome.
 */
export class Attempt {
  readonly #deps: PurchaseDeps;
  readonly #purchaseRequest: PurchaseRequest;
  readonly #control: Pick<Control, 'stop' | 'cut'>;
  readonly #stats: PurchaseStats;

  constructor(
    deps: PurchaseDeps,
    purchaseRequest: PurchaseRequest,
    control: Pick<Control, 'stop' | 'cut'>,
    stats: PurchaseStats,
  ) {
    this.#deps = deps;
    this.#purchaseRequest = purchaseRequest;
    this.#control = control;
    this.#stats = stats;
  }

  /**
   * Makes one attempt; calls `granted` once the budget is reserved. `limitMicros` is the bound of a run's cost; null for no bound. Throws
   * local failures, such as those of journal and limiter.
   */
  async at(batch: readonly Unit[], granted: () => void, limitMicros: number | null = null): Promise<AttemptEnd> {
    const course: Course = { sent: false, result: 'undecided', unrecognized: false };
    const { longRunning } = this.#purchaseRequest;
    if (!longRunning) return this.#inFlight(batch, granted, limitMicros, course);
    const { key } = batch[0] as Unit;
    await this.#takeSlot(longRunning.slots, key);
    let runs = false;
    try {
      const end = await this.#inFlight(batch, granted, limitMicros, course);
      runs = typeof end === 'object' && !(end instanceof Error);
      if (!runs) course.sent = false;
      return end;
    } finally {
      // A slot is kept if the run for it may have been started.
      if (!runs && !course.sent) await longRunning.slots.free(key);
    }
  }

  async #takeSlot(slots: RunSlots, owner: string): Promise<void> {
    this.#stats.queueing++;
    try {
      await slots.take(owner, this.#control.stop);
    } finally {
      this.#stats.queueing--;
    }
  }

  async #inFlight(
    batch: readonly Unit[],
    granted: () => void,
    limitMicros: number | null,
    course: Course,
  ): Promise<AttemptEnd> {
    const { inFlight, health } = this.#deps;
    await inFlight.enter(this.#control.stop);
    try {
      const pass = await health.pass(this.#control.stop);
      try {
        return await this.#inTurn(batch, granted, limitMicros, course);
      } finally {
        health[course.result](pass, course.unrecognized);
      }
    } finally {
      inFlight.leave();
    }
  }

  async #inTurn(
    batch: readonly Unit[],
    granted: () => void,
    limitMicros: number | null,
    course: Course,
  ): Promise<AttemptEnd> {
    const { limiter, inFlight } = this.#deps;
    const grant = await limiter.acquire(this.#purchaseRequest.rateCost, this.#control.stop);
    const asked = await this.#intend(batch, limitMicros);
    if (asked instanceof OverBudget) return asked;
    granted();
    if (!(await this.#start(grant, asked))) return 'blocked';
    const sent = { at: Date.now() };
    this.#stats.requestsSent.add(sent);
    inFlight.sent++;
    course.sent = true;
    try {
      const end = await this.#send(asked, batch, limitMicros);
      course.result = 'succeeded';
      return end;
    } catch (error) {
      if (!isApiError(error)) throw error;
      if (error.verdict.type === 'ServiceUnavailable' && !this.#control.cut.aborted) course.result = 'failed';
      course.unrecognized = error.facts.unrecognized ?? false;
      if (!this.#purchaseRequest.longRunning || error.verdict.charged === 'never')
        return await this.#missed(asked, batch, error);
      // After any answer, the start is no longer in flight, so its run is searched for at once.
      const over = error.facts.phase === 'answer';
      return { asked: over ? { ...asked, deadline: Date.now() } : asked, error };
    } finally {
      this.#stats.requestsSent.delete(sent);
      inFlight.sent--;
    }
  }

  async #send(asked: Asked, batch: readonly Unit[], limitMicros: number | null): Promise<'landed' | Running> {
    const { longRunning, owner, rateCost } = this.#purchaseRequest;
    const { limiter, journal } = this.#deps;
    const { cut } = this.#control;
    if (!longRunning) {
      const bought = await this.#purchaseRequest.send(batch, cut);
      if (bought.queued) limiter.queued(rateCost);
      await this.land(asked, bought);
      return 'landed';
    }
    const unit = batch[0] as Unit;
    const { run, requestId, queued } = await longRunning.start(unit, { tag: tagOf(unit, asked.id), limitMicros }, cut);
    if (queued) limiter.queued(rateCost);
    await persist(() => journal.note(asked.id, owner, { run, requestId }));
    return { asked, facts: { run, requestId } };
  }

  async #intend(batch: readonly Unit[], limitMicros: number | null): Promise<Asked | OverBudget> {
    const { journal, accountBreaker } = this.#deps;
    const { owner, segment, operation, timeoutMs, cap, mostMicros, resumedAt } = this.#purchaseRequest;
    accountBreaker.check(resumedAt);
    const price = priceOf(this.#purchaseRequest, batch, limitMicros);
    const takenMicros = this.#stats.reserve(mostMicros, price);
    if (takenMicros instanceof OverBudget) return takenMicros;
    this.#stats.opened(takenMicros);
    const at = Date.now();
    const deadline = at + GRANT_AHEAD_MS + timeoutMs;
    try {
      const id = await journal.intend({
        owner,
        segment,
        operation,
        tier: this.#purchaseRequest.tier?.(batch).slice(0, MAX_TIER),
        keys: batch.map((unit) => unit.key),
        ...price,
        deadline,
        ...(cap ? { cap } : {}),
      });
      return { id, ...price, takenMicros, at, deadline };
    } catch (error) {
      this.#stats.closed(takenMicros);
      if (error instanceof OverBudget) return error;
      throw error;
    }
  }

  /** Takes over an open intent of an earlier attempt. */
  adopt(unit: Unit, { intentId, at }: Pick<Started, 'intentId' | 'at'>, deadline: number): Asked {
    const price = priceOf(this.#purchaseRequest, [unit], null);
    const takenMicros = price.estimateMicros;
    this.#stats.opened(takenMicros);
    return { id: intentId, ...price, takenMicros, at, deadline };
  }

  /** Closes an intent without a readable answer; `body` is the text that came instead. */
  async miss(
    { id, takenMicros }: Asked,
    reason: string,
    charged: 'never' | 'maybe',
    body: string | null = null,
  ): Promise<void> {
    await this.#deps.journal.miss(id, reason, charged, body === null ? null : firstBytes(body, MAX_KEPT_BYTES));
    this.#stats.closed(takenMicros);
    if (charged === 'never') return;
    this.#stats.unknownOutcomes++;
    this.#stats.unknownMicros += takenMicros;
  }

  /** Waits for the start time of a turn. If a block has begun meanwhile, closes the intent and returns false. */
  async #start(grant: Grant, asked: Asked): Promise<boolean> {
    const { limiter, accountBreaker } = this.#deps;
    let go: boolean;
    try {
      go = (await limiter.start(grant, this.#control.stop)) === 'go';
      accountBreaker.check(this.#purchaseRequest.resumedAt);
    } catch (error) {
      await this.miss(asked, 'stopped before it was sent', 'never');
      throw error;
    }
    if (!go) await this.miss(asked, 'held back before it was sent', 'never');
    return go;
  }

  /** Lands an answer. The cost of the answer is split over its units. */
  async land({ id, estimateMicros, listMicros, takenMicros }: Asked, bought: Bought): Promise<void> {
    const total = bought.costMicros ?? estimateMicros;
    const charged = bought.units.filter((unit) => unit.status === 'success').length;
    // Failed units are free. Only if all units failed and the answer has a cost, the cost is split over the failed units.
    const shares = splitMicros(total, charged > 0 ? charged : bought.units.length);
    let share = 0;
    const units = bought.units.map((unit): UnitOutcome => {
      const costMicros = charged === 0 || unit.status === 'success' ? (shares[share++] ?? 0) : 0;
      return { ...unit, costMicros };
    });
    await persist(() => this.#deps.journal.land(id, { requestId: bought.requestId, fetchedAt: Date.now(), units }));
    const stats = this.#stats;
    stats.requests++;
    stats.bought += units.length;
    stats.failed += units.length - charged;
    stats.landed += units.length;
    stats.closed(takenMicros);
    stats.learn(listMicros, total, units);
    stats.costMicros += total;
  }

  /** Records a failed call. An unreadable answer was paid for, so its text lands unchanged. */
  async #missed(asked: Asked, batch: readonly Unit[], error: ApiError): Promise<AttemptEnd> {
    const { verdict } = error;
    if (verdict.type === 'ResponseShape') {
      await this.land(asked, {
        requestId: error.requestId,
        costMicros: null,
        units: batch.map((unit, index) => ({
          ...failed(unit, 'RESPONSE_SHAPE', error.facts.status),
          result: index === 0 ? { body: error.body ?? null } : null,
        })),
      });
      return 'landed';
    }
    await this.miss(asked, error.message, verdict.charged, error.body);
    if (verdict.charged === 'maybe') {
      for (const { key } of batch) this.#stats.unknowns.set(key, this.#stats.unknownsOf(key) + 1);
    }
    return error;
  }
}

/** Returns the estimate of a request. `limitMicros` is the bound of the cost that is sent with the request; null for no bound. */
export function priceOf(
  purchaseRequest: PurchaseRequest,
  batch: readonly Unit[],
  limitMicros: number | null,
): Required<Price> {
  const estimateMicros = limitMicros ?? purchaseRequest.estimateMicros(batch);
  return { estimateMicros, listMicros: limitMicros ?? purchaseRequest.listMicros?.(batch) ?? estimateMicros };
}

function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most ? text : bytes.subarray(0, most).toString();
}

/** Returns the outcome of a unit that ended without a result. */
export function failed(unit: Unit, tag: string, httpStatus: number | null): Omit<UnitOutcome, 'costMicros'> {
  return { ...unit, status: 'error', errorTag: tag, httpStatus, source: null, result: null };
}

/** Writes an answer to the disk, with retries for some seconds, because a full disk may get space again. */
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
