import { setTimeout as delay } from 'node:timers/promises';
import { FIRST_REQUESTS, type OverBudget } from '../../core/purchase/spend.js';
import { InFlight } from '../call/in-flight.js';
import type { PurchaseRequest } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

/**
 * The first and the longest time in ms between checks of the budget, while requests in flight may free a part of the budget. Each check
 * takes a turn of the rate.
 */
const POLL_MS = 500;
const MAX_POLL_MS = 5000;
const SHORT = 'the budget: requests in flight may cost less than estimated';
const UNPROVEN = 'the budget: the first answers show what a request costs';

/** The state that all purchases under one budget share in a process. */
export class BudgetGate {
  /** While the budget is short, one request at a time asks for a part of the budget. */
  readonly turn = new InFlight(1);
  short: boolean;
  why = SHORT;
  checking = false;
  users = 0;
  /** Aborted when an attempt ends, because the amount that the attempt reserved may be free again. */
  ended = new AbortController();
  /** Number of consecutive requests that fit under the budget. */
  #granted = 0;

  /** `bounded`: whether there is a budget. With a budget, even the first requests may have to wait. */
  constructor(bounded: boolean) {
    this.short = bounded;
  }

  granted(): void {
    // The first requests do not show that the budget is enough, because their answers may not have come yet.
    if (++this.#granted > FIRST_REQUESTS) this.short = false;
  }

  refused({ unproven }: OverBudget): void {
    this.short = true;
    this.#granted = 0;
    this.why = unproven ? UNPROVEN : SHORT;
  }

  attemptEnded(): void {
    this.ended.abort();
    this.ended = new AbortController();
  }
}

/** The gates of one process: one gate for each job with a budget. */
export class BudgetGates {
  readonly #gates = new Map<string, BudgetGate>();

  enter({ cap, mostMicros }: Pick<PurchaseRequest, 'cap' | 'mostMicros'>): BudgetGate {
    const name = cap?.bookPrefix;
    const gate = (name !== undefined && this.#gates.get(name)) || new BudgetGate((name ?? mostMicros) !== undefined);
    if (name !== undefined) this.#gates.set(name, gate);
    gate.users++;
    return gate;
  }

  leave({ cap }: Pick<PurchaseRequest, 'cap'>, gate: BudgetGate): void {
    if (--gate.users === 0 && cap) this.#gates.delete(cap.bookPrefix);
  }
}

/**
 * One request at the budget gate. While the budget is enough, no request waits. After a refusal only one request of the job at a time asks
 * for budget, so that many waiting requests do not use up the rate limit. After a few consecutive requests fit under the budget, all
 * requests ask again.
 */
export class RequestBudget {
  /** When this request last began to ask for budget and turn, in Unix ms. */
  askedAt = 0;
  readonly #gate: BudgetGate;
  readonly #stats: PurchaseStats;
  readonly #stop: AbortSignal;
  /** Whether the other requests of the job wait until this request has got its part of the budget. */
  #asksAlone = false;
  #pollMs = POLL_MS;
  /** Aborted when an attempt has ended since this request asked last. */
  #ended: AbortSignal;

  constructor(gate: BudgetGate, stats: PurchaseStats, stop: AbortSignal) {
    this.#gate = gate;
    this.#stats = stats;
    this.#stop = stop;
    this.#ended = gate.ended.signal;
  }

  /** Waits until this request may ask for its part of the budget. */
  async enter(): Promise<void> {
    const gate = this.#gate;
    if (gate.short && !this.#asksAlone) {
      await this.#wait(gate.turn.enter(this.#stop));
      this.#asksAlone = true;
      this.#pollMs = POLL_MS;
    }
    if (!gate.short) this.leave();
    this.#ended = gate.ended.signal;
    this.askedAt = Date.now();
  }

  /** Records that the amount of this request is reserved, so that the next request may ask. */
  granted(): void {
    if (this.#asksAlone) this.#gate.granted();
    this.leave();
  }

  /**
   * Records a refusal. If requests in flight may free a part of the budget, waits for that. Returns whether the request must be made
   * smaller before it asks again.
   */
  async refused(over: OverBudget): Promise<boolean> {
    const gate = this.#gate;
    gate.refused(over);
    if (!this.#asksAlone) return false;
    gate.checking = over.openMicros > 0 || over.unproven;
    const ms = this.#pollMs;
    this.#pollMs = Math.min(MAX_POLL_MS, 2 * ms);
    if (!gate.checking) return true;
    const signal = AbortSignal.any([this.#stop, this.#ended]);
    await this.#wait(
      delay(ms, undefined, { signal }).catch(() => undefined),
      performance.now() + ms,
    );
    this.#stop.throwIfAborted();
    return false;
  }

  /** Lets the next request ask. */
  leave(): void {
    if (!this.#asksAlone) return;
    this.#asksAlone = false;
    this.#gate.checking = false;
    this.#gate.turn.leave();
  }

  async #wait(promise: Promise<void>, until?: number): Promise<void> {
    const { waits, budgetWaits } = this.#stats;
    await this.#stats.during(budgetWaits, () => waits.during(promise, this.#gate.why, until));
  }
}

/** Splits a batch that is over its budget: `first` has as many units as fit. Returns null if not even one unit fits. */
export function splitByBudget<U>(
  batch: readonly U[],
  fits: (units: readonly U[]) => boolean,
): { readonly first: readonly U[]; readonly rest: readonly U[] } | null {
  let count = batch.length - 1;
  while (count > 0 && !fits(batch.slice(0, count))) count--;
  return count <= 0 ? null : { first: batch.slice(0, count), rest: batch.slice(count) };
}
