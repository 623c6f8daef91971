import { setTimeout as delay } from 'node:timers/promises';
import { FIRST_REQUESTS, OverBudget } from '../../core/purchase/spend.js';
import { InFlight } from '../call/in-flight.js';
import type { AttemptEnd } from './attempt.js';
import type { PurchaseRequest } from './purchase-request.js';
import type { Waits } from './waits.js';

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

  /** Returns the gate of a purchase; `leave` releases the gate. */
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
 * The budget of one purchase. While the budget is enough, no request waits. After a refusal only one request of the job at a time asks for
 * budget, so that many waiting requests do not use up the rate limit. After a few consecutive requests fit under the budget, all requests
 * ask again.
 */
export class PurchaseBudget {
  readonly #waits: Waits;
  readonly #stop: AbortSignal;
  readonly #gate: BudgetGate;
  /** Number of requests that wait for the budget, or until an earlier request has got its part of the budget. */
  #waiting = 0;

  constructor(waits: Waits, stop: AbortSignal, gate: BudgetGate) {
    this.#waits = waits;
    this.#stop = stop;
    this.#gate = gate;
  }

  /** The reason of a wait; null if no request waits. */
  get waitingFor(): string | null {
    return this.#waiting > 0 && this.#gate.checking ? this.#gate.why : null;
  }

  /**
   * Makes an attempt once the budget allows it. The attempt calls `granted` when its amount is reserved. If the budget is short and
   * requests in flight may free a part of the budget, the attempt is repeated later. Otherwise `cut` makes the attempt smaller or throws.
   */
  async pay(
    attempt: (granted: () => void) => Promise<AttemptEnd>,
    cut: (over: OverBudget) => void,
  ): Promise<Exclude<AttemptEnd, OverBudget>> {
    for (;;) {
      if (!this.#gate.short) {
        const end = await this.#made(attempt(() => undefined));
        if (!(end instanceof OverBudget)) return end;
        this.#gate.refused(end);
      }
      const end = await this.#payInTurn(attempt, cut);
      if (end !== null) return end;
    }
  }

  /** Records the end of a long-running unit, because the amount that the unit reserved may be free again. */
  landed(): void {
    this.#gate.attemptEnded();
  }

  /** Makes the attempt while other requests of the job wait. Returns null if the budget is no longer short. */
  async #payInTurn(
    attempt: (granted: () => void) => Promise<AttemptEnd>,
    cut: (over: OverBudget) => void,
  ): Promise<Exclude<AttemptEnd, OverBudget> | null> {
    const gate = this.#gate;
    await this.#wait(gate.turn.enter(this.#stop));
    let mine = true;
    const leave = () => {
      if (!mine) return;
      mine = false;
      gate.checking = false;
      gate.turn.leave();
    };
    try {
      for (let ms = POLL_MS; gate.short; ms = Math.min(MAX_POLL_MS, 2 * ms)) {
        const { signal } = gate.ended;
        const granted = () => {
          if (mine) gate.granted();
          leave();
        };
        const end = await this.#made(attempt(granted));
        if (!(end instanceof OverBudget)) return end;
        gate.refused(end);
        gate.checking = end.openMicros > 0 || end.unproven;
        if (gate.checking) await this.#nap(ms, signal);
        else cut(end);
      }
      return null;
    } finally {
      leave();
    }
  }

  async #made(attempt: Promise<AttemptEnd>): Promise<AttemptEnd> {
    const end = await attempt;
    if (!(end instanceof OverBudget)) this.#gate.attemptEnded();
    return end;
  }

  async #nap(ms: number, ended: AbortSignal): Promise<void> {
    const nap = delay(ms, undefined, { signal: AbortSignal.any([this.#stop, ended]) }).catch(() => undefined);
    await this.#wait(nap, performance.now() + ms);
    this.#stop.throwIfAborted();
  }

  async #wait(promise: Promise<void>, until?: number): Promise<void> {
    this.#waiting++;
    try {
      await this.#waits.during(promise, this.#gate.why, until);
    } finally {
      this.#waiting--;
    }
  }
}
