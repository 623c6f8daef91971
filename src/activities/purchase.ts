import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../api/errors.js';
import { backoffMs } from '../core/backoff.js';
import type { Freshness, Journal, UnitOutcome } from '../core/journal.js';
import type { Draw, Limiter } from '../core/limiter.js';
import { splitMicros } from '../core/money.js';
import { GRANT_AHEAD_MS, MAX_BLOCK_MS } from '../core/rate.js';
import { isApiError } from './failure.js';
import type { Halt } from './halt.js';
import type { InFlight } from './in-flight.js';
import type { ServiceHealth } from './service-health.js';

/** One unit of work: a URL, a rendered request. */
export interface Unit {
  readonly key: string;
  readonly unit: string;
}

/** What one request brought, before its cost is split. */
export interface Bought {
  readonly requestId: string | null;
  /** Null where the wire says no cost: the estimate is taken. */
  readonly costMicros: number | null;
  readonly units: readonly Omit<UnitOutcome, 'costMicros'>[];
}

/** What to buy, and how one request for some of it is made. */
export interface Order {
  readonly book: string;
  /** Token of this attempt: claims and intents are in its name. */
  readonly owner: string;
  readonly operation: string;
  readonly draw: Draw;
  readonly units: readonly Unit[];
  readonly unitsPerRequest: number;
  estimateMicros(units: readonly Unit[]): number;
  /** One attempt. Throws `ApiError`. */
  send(units: readonly Unit[], signal: AbortSignal): Promise<Bought>;
  /** After this many milliseconds without an answer the intent is overdue. */
  readonly timeoutMs: number;
  readonly freshness?: Freshness | undefined;
  readonly resumedAt: number;
  /** A unit that the service refuses: write it down as failed and go on, or fail the whole order. */
  readonly refused: 'settle' | 'throw';
  /** How often a lost answer is bought again; default {@link MAX_REBUYS}. 0 for what starts something. */
  readonly maxRebuys?: number | undefined;
}

export interface Control {
  /** Aborted: start nothing more, let what is in flight land. */
  readonly stop: AbortSignal;
  /** Aborted: cut what is in flight. */
  readonly cut: AbortSignal;
  /** Waits longer than this are handed back to the caller as `waitMs`. */
  readonly yieldAfterMs: number;
  progress?(progress: Progress): void;
}

export interface Progress {
  readonly landed: number;
  /** Units bought now that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  readonly waitingFor: string | null;
}

/** How a purchase ended. */
export interface Receipt {
  /** Every unit has landed (as success or as a failure with a reason). */
  readonly complete: boolean;
  readonly requests: number;
  readonly bought: number;
  readonly failed: number;
  readonly costMicros: number;
  readonly unknownOutcomes: number;
  /** Where not complete: nothing can go on before this many milliseconds. */
  readonly waitMs: number;
  readonly waitingFor: string | null;
}

export interface PurchaseDeps {
  readonly journal: Journal;
  readonly limiter: Limiter;
  readonly inFlight: InFlight;
  readonly health: ServiceHealth;
  readonly halt: Halt;
  readonly random?: () => number;
}

/** A unit whose answer got lost this often beyond the first time is given up: tag `UNKNOWN_OUTCOME`. */
export const MAX_REBUYS = 3;
/** So many single units refused and none bought: it is the request that is wrong, not the units. */
const REFUSALS_TO_FAIL = 8;
const TICK_MS = 500;

export type Purchase = (order: Order, control: Control) => Promise<Receipt>;

/**
 * The only way to make a call that costs money. Claims the units, writes each intent down before sending and each answer down
 * before returning, retries as the failure table says, and never buys a landed unit again.
 *
 * Rejects with `ApiError` for what no retry mends (bad key, no credits, a request the service refuses as a whole), after what
 * is in flight has landed; everything bought until then is in the journal.
 */
export function createPurchase(deps: PurchaseDeps): Purchase {
  return async (order, control) => {
    const run = new Run(deps, order, control);
    try {
      return await run.toEnd();
    } finally {
      await deps.journal.release(order.owner);
    }
  };
}

class Run {
  readonly #deps: PurchaseDeps;
  readonly #order: Order;
  readonly #control: Control;
  readonly #byKey: Map<string, Unit>;
  /** Ends the run early: the caller's stop, a fatal failure, or a wait too long to sit through. */
  readonly #halted = new AbortController();
  readonly #stop: AbortSignal;
  readonly #maxRebuys: number;
  readonly #unknowns = new Map<string, number>();
  readonly #tasks = new Set<Promise<void>>();
  /** When each waiting request wakes (Unix ms) and why it waits. */
  readonly #waits = new Map<object, { readonly until: number; readonly why: string }>();
  #sending = 0;
  #fatal: unknown = null;
  #landed = 0;
  #requests = 0;
  #bought = 0;
  #failedUnits = 0;
  #costMicros = 0;
  #unknownOutcomes = 0;
  /** Units refused on their own, until it is known that it was not the request as a whole. */
  readonly #refusals: { readonly unit: Unit; readonly error: ApiError }[] = [];
  #waitMs = 0;
  #waitingFor: string | null = null;

  constructor(deps: PurchaseDeps, order: Order, control: Control) {
    this.#deps = deps;
    this.#order = order;
    this.#control = control;
    this.#maxRebuys = order.maxRebuys ?? MAX_REBUYS;
    this.#byKey = new Map(order.units.map((unit) => [unit.key, unit]));
    this.#stop = AbortSignal.any([control.stop, this.#halted.signal]);
    // As many listeners as there are requests of the order: no leak.
    setMaxListeners(0, this.#stop, control.cut);
  }

  async toEnd(): Promise<Receipt> {
    const ticker = setInterval(() => void this.#tick(), TICK_MS);
    try {
      await this.#claimAll();
    } catch (error) {
      if (!this.#stop.aborted) this.#fail(error);
    } finally {
      while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
      clearInterval(ticker);
    }
    if (this.#fatal) throw this.#fatal;
    // A service that refused everything may have been the wrong one: then the units are asked for again.
    if (this.#requests > 0 || !this.#stop.aborted) await this.#settleRefusals();
    return {
      complete: this.#landed === this.#byKey.size,
      requests: this.#requests,
      bought: this.#bought,
      failed: this.#failedUnits,
      costMicros: this.#costMicros,
      unknownOutcomes: this.#unknownOutcomes,
      waitMs: this.#waitMs,
      waitingFor: this.#waitingFor,
    };
  }

  /** Claims what can be claimed and buys it, until nothing is left that somebody else is buying. */
  async #claimAll(): Promise<void> {
    let keys: readonly string[] = [...this.#byKey.keys()];
    const { journal } = this.#deps;
    const { owner, freshness, unitsPerRequest } = this.#order;
    while (keys.length > 0) {
      this.#stop.throwIfAborted();
      const claim = await journal.claim(keys, owner, freshness);
      this.#landed += claim.landed.length;
      const hopeless: Unit[] = [];
      const buyable: Unit[] = [];
      for (const { key, unknowns } of claim.mine) {
        this.#unknowns.set(key, unknowns);
        (unknowns > this.#maxRebuys ? hopeless : buyable).push(this.#unit(key));
      }
      if (hopeless.length > 0) await this.#giveUp(hopeless);
      for (let from = 0; from < buyable.length; from += unitsPerRequest)
        this.#spawn(buyable.slice(from, from + unitsPerRequest));
      if (claim.theirs.length > 0) await journal.settled(claim.theirs, this.#stop);
      keys = claim.theirs;
    }
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  #unit(key: string): Unit {
    return this.#byKey.get(key) as Unit;
  }

  #spawn(batch: readonly Unit[]): void {
    const task: Promise<void> = this.#buy(batch)
      .catch((error: unknown) => {
        if (!this.#stop.aborted) this.#fail(error);
      })
      .finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Remembers the first failure that no retry mends, and lets nothing more start. */
  #fail(error: unknown): void {
    this.#fatal ??= error;
    this.#halted.abort(error);
  }

  /** Buys one batch to its end: landed, split, given up, or stopped. */
  async #buy(batch: readonly Unit[]): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const askedAt = Date.now();
      const failure = await this.#attempt(batch);
      if (failure === 'landed') return;
      if (failure === 'blocked') continue;
      const next = await this.#afterFailure(batch, failure, attempt, askedAt);
      if (next === null) return;
      if (next > 0) await this.#wait(next, failure.verdict.blocks ? 'rate limit' : failure.message);
    }
  }

  /** One attempt at one request. Failures that are not the service's (journal, limiter) are thrown. */
  async #attempt(batch: readonly Unit[]): Promise<'landed' | 'blocked' | ApiError> {
    const { journal, limiter, inFlight, health, halt } = this.#deps;
    const order = this.#order;
    await inFlight.enter(this.#stop);
    try {
      const pass = await health.pass(this.#stop);
      let decided = false;
      try {
        const grant = await limiter.acquire(order.draw, this.#stop);
        halt.check(order.resumedAt);
        const intent = await journal.intend({
          owner: order.owner,
          book: order.book,
          operation: order.operation,
          keys: batch.map((unit) => unit.key),
          estimateMicros: order.estimateMicros(batch),
          deadline: Date.now() + GRANT_AHEAD_MS + order.timeoutMs,
        });
        let go = false;
        try {
          go = (await limiter.start(grant, this.#stop)) === 'go';
          halt.check(order.resumedAt);
        } catch (error) {
          await journal.miss(intent, 'stopped before it was sent', 'never');
          throw error;
        }
        if (!go) {
          await journal.miss(intent, 'held back before it was sent', 'never');
          return 'blocked';
        }
        this.#sending++;
        inFlight.sent++;
        try {
          const bought = await order.send(batch, this.#control.cut);
          decided = true;
          health.succeeded();
          await this.#land(intent, batch, bought);
          return 'landed';
        } catch (error) {
          if (!isApiError(error)) throw error;
          decided = true;
          await this.#missed(intent, batch, error, pass);
          return error.verdict.type === 'ResponseShape' ? 'landed' : error;
        } finally {
          this.#sending--;
          inFlight.sent--;
        }
      } finally {
        if (!decided) health.undecided(pass);
      }
    } finally {
      inFlight.leave();
    }
  }

  async #land(intent: string, batch: readonly Unit[], bought: Bought): Promise<void> {
    const total = bought.costMicros ?? this.#order.estimateMicros(batch);
    const charged = bought.units.filter((unit) => unit.status === 'success').length;
    // What failed is taken as free, unless nothing succeeded and money was asked all the same.
    const shares = splitMicros(total, charged > 0 ? charged : bought.units.length);
    let share = 0;
    const units = bought.units.map(({ key, unit, status, errorTag, httpStatus, source, result }): UnitOutcome => {
      const costMicros = charged === 0 || status === 'success' ? (shares[share++] ?? 0) : 0;
      return { key, unit, status, errorTag, httpStatus, source, costMicros, result };
    });
    await this.#persist(() =>
      this.#deps.journal.land(intent, { requestId: bought.requestId, fetchedAt: Date.now(), units }),
    );
    this.#requests++;
    this.#bought += units.length;
    this.#failedUnits += units.length - charged;
    this.#landed += units.length;
    this.#costMicros += total;
  }

  /** An answer in hand must reach the disk: a full one is waited for a while before the answer is given up. */
  async #persist(write: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await write();
      } catch (error) {
        if (attempt >= 5) throw error;
        await delay(backoffMs(attempt, 200, 5000, 0.5));
      }
    }
  }

  async #missed(intent: string, batch: readonly Unit[], error: ApiError, pass: 'well' | 'try'): Promise<void> {
    const { journal, health } = this.#deps;
    const { verdict } = error;
    if (verdict.type === 'ServiceUnavailable' && !this.#control.cut.aborted) health.failed(pass);
    else health.undecided(pass);
    if (verdict.type === 'ResponseShape') {
      await this.#land(intent, batch, {
        requestId: error.requestId,
        costMicros: null,
        units: batch.map((unit, index) => ({
          ...failed(unit, 'RESPONSE_SHAPE', error.facts.status),
          result: index === 0 ? { body: error.body ?? null } : null,
        })),
      });
      return;
    }
    await journal.miss(intent, error.message, verdict.charged);
    if (verdict.charged === 'maybe') {
      this.#unknownOutcomes++;
      for (const { key } of batch) this.#unknowns.set(key, (this.#unknowns.get(key) ?? 0) + 1);
    }
  }

  /** Decides how a failed request goes on: after so many milliseconds, or not (null). */
  async #afterFailure(
    batch: readonly Unit[],
    error: ApiError,
    attempt: number,
    askedAt: number,
  ): Promise<number | null> {
    const { verdict, facts } = error;
    const random = this.#deps.random?.() ?? Math.random();
    if (!verdict.retry) {
      if (verdict.type === 'InvalidRequest') {
        await this.#refuse(batch, error);
        return null;
      }
      if (verdict.type !== 'NotFound') this.#deps.halt.trip(error, askedAt);
      throw error;
    }
    if (verdict.blocks) {
      const ms = facts.retryAfterMs ?? backoffMs(attempt, 300, 60_000, random);
      await this.#deps.limiter.block(Math.min(ms, MAX_BLOCK_MS), error.message);
      if (ms > MAX_BLOCK_MS) throw error;
      return 0;
    }
    if (verdict.charged === 'maybe' && (this.#unknowns.get((batch[0] as Unit).key) ?? 0) > this.#maxRebuys) {
      const [hopeless, rest] = partition(batch, (unit) => (this.#unknowns.get(unit.key) ?? 0) > this.#maxRebuys);
      await this.#giveUp(hopeless);
      if (rest.length > 0) this.#spawn(rest);
      return null;
    }
    return Math.max(facts.retryAfterMs ?? 0, backoffMs(attempt, 1000, 60_000, random));
  }

  /** A refused request is split until the refused unit is alone: one bad URL must not cost its ninety-nine neighbours. */
  async #refuse(batch: readonly Unit[], error: ApiError): Promise<void> {
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      this.#spawn(batch.slice(0, half));
      this.#spawn(batch.slice(half));
      return;
    }
    if (this.#order.refused === 'throw') throw error;
    for (const unit of batch) this.#refusals.push({ unit, error });
    if (this.#refusals.length >= REFUSALS_TO_FAIL && this.#requests === 0) throw error;
  }

  async #settleRefusals(): Promise<void> {
    for (const { unit, error } of this.#refusals) {
      await this.#settle([unit], error.facts.tag ?? 'INVALID_REQUEST', error.facts.status, error.message);
    }
  }

  async #giveUp(units: readonly Unit[]): Promise<void> {
    const tries = this.#maxRebuys + 1;
    const message = `no answer landed in ${tries} ${tries === 1 ? 'purchase' : 'purchases'}, perhaps charged all the same`;
    await this.#settle(units, 'UNKNOWN_OUTCOME', null, message);
  }

  async #settle(units: readonly Unit[], tag: string, httpStatus: number | null, message: string): Promise<void> {
    const { owner, book, operation } = this.#order;
    const outcomes = units.map((unit) => ({
      ...failed(unit, tag, httpStatus),
      result: { error: message },
      costMicros: 0,
    }));
    await this.#deps.journal.settle(owner, book, operation, outcomes);
    this.#landed += units.length;
    this.#failedUnits += units.length;
  }

  async #wait(ms: number, why: string): Promise<void> {
    const mark = {};
    this.#waits.set(mark, { until: Date.now() + ms, why });
    try {
      await delay(ms, undefined, { signal: this.#stop });
    } finally {
      this.#waits.delete(mark);
    }
  }

  /** Reports progress, and ends the run where all that is left waits too long to sit through. */
  async #tick(): Promise<void> {
    const now = Date.now();
    const { blockedUntil, blockReason } = await this.#deps.limiter.view();
    const blockMs = blockedUntil === null ? 0 : blockedUntil - now;
    let hold = Math.max(blockMs, this.#deps.health.holdMs);
    let why = blockMs > 0 ? blockReason : hold > 0 ? 'the service to recover' : null;
    if (hold === 0 && this.#tasks.size > 0 && this.#waits.size === this.#tasks.size) {
      const first = [...this.#waits.values()].reduce((a, b) => (a.until <= b.until ? a : b));
      hold = first.until - now;
      why = first.why;
    }
    this.#control.progress?.({
      landed: this.#landed,
      failed: this.#failedUnits,
      costMicros: this.#costMicros,
      waitingFor: hold > 0 ? why : null,
    });
    if (hold > this.#control.yieldAfterMs && this.#sending === 0 && !this.#stop.aborted) {
      this.#waitMs = hold;
      this.#waitingFor = why;
      this.#halted.abort(new Error('yielded'));
    }
  }
}

function failed(unit: Unit, tag: string, httpStatus: number | null): Omit<UnitOutcome, 'costMicros'> {
  return { ...unit, status: 'error', errorTag: tag, httpStatus, source: null, result: null };
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (test(item) ? yes : no).push(item);
  return [yes, no];
}
