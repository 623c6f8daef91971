import { setTimeout as delay } from 'node:timers/promises';
import { FIRST_REQUESTS, OverBudget } from '../../core/purchase/spend.js';
import { InFlight } from '../call/in-flight.js';
import type { AttemptEnd } from './attempt.js';
import type { PurchaseRequest } from './purchase-request.js';
import type { Waits } from './waits.js';

/** First and longest wait for money that others have in flight, in ms. Each look takes a start at the rate source. */
const POLL_MS = 500;
const MAX_POLL_MS = 5000;
const SHORT = 'its budget: money in flight may come back';
const UNPROVEN = 'its budget: the first answers tell what a request costs';

/** What the purchases under one budget know of it together, in one process. */
export class BudgetGate {
  /** While money is short one request at a time asks for it. */
  readonly turn = new InFlight(1);
  short: boolean;
  why = SHORT;
  looking = false;
  users = 0;
  /** Aborted when an attempt has ended: its money may be back. */
  ended = new AbortController();
  /** Requests in a row that got their money at once. */
  #granted = 0;

  /** `bounded`: it is known beforehand that there is a budget, whose first requests may have to wait. */
  constructor(bounded: boolean) {
    this.short = bounded;
  }

  granted(): void {
    // As many as may be in flight before the first answer say nothing yet.
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

/** The gates of one process: one for each job with a budget. */
export class BudgetGates {
  readonly #gates = new Map<string, BudgetGate>();

  /** The gate of a purchase, which gives it back with `leave`. */
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
 * The money of one purchase. While there is enough nobody notices it. Once a request was refused for want of it, one of the job at a
 * time asks for more, so that a hundred that wait don't use up the rate limit by asking; until a few in a row have got it.
 */
export class PurchaseBudget {
  readonly #waits: Waits;
  readonly #stop: AbortSignal;
  readonly #gate: BudgetGate;
  /** Requests that wait for money, or for their turn to ask for it. */
  #waiting = 0;

  constructor(waits: Waits, stop: AbortSignal, gate: BudgetGate) {
    this.#waits = waits;
    this.#stop = stop;
    this.#gate = gate;
  }

  /** What it waits for, in words; null where it does not. */
  get waitingFor(): string | null {
    return this.#waiting > 0 && this.#gate.looking ? this.#gate.why : null;
  }

  /**
   * Makes an attempt when there is money for it. `attempt` tells `granted` once the money is its own. Where money is in flight
   * that may come back it is waited for; where none is, `cut` makes the attempt smaller or throws.
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

  /** What ran on after its attempt has landed: its money may be back. */
  landed(): void {
    this.#gate.attemptEnded();
  }

  /** Null where money is not short any more. */
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
      gate.looking = false;
      gate.turn.leave();
    };
    try {
      for (let look = POLL_MS; gate.short; look = Math.min(MAX_POLL_MS, 2 * look)) {
        const { signal } = gate.ended;
        const granted = () => {
          if (mine) gate.granted();
          leave();
        };
        const end = await this.#made(attempt(granted));
        if (!(end instanceof OverBudget)) return end;
        gate.refused(end);
        gate.looking = end.openMicros > 0 || end.unproven;
        if (gate.looking) await this.#nap(look, signal);
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
