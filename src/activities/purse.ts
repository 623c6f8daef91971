import { setTimeout as delay } from 'node:timers/promises';
import { FIRST_REQUESTS, OverBudget } from '../core/spend.js';
import type { AttemptEnd } from './attempt.js';
import { InFlight } from './in-flight.js';
import type { Waits } from './waits.js';

/** First and longest wait for money that others have in flight, in ms. Each look takes a place on the meter. */
const LOOK_MS = 500;
const MAX_LOOK_MS = 5000;
const SHORT = 'its budget: money in flight may come back';
const UNPROVEN = 'its budget: the first answers tell what a request costs';

/**
 * The money of one purchase. While there is enough nobody notices it. Once a request was refused for want of it, one at a time
 * asks for more, so that a hundred that wait don't use up the rate limit by asking; until a few in a row have got it.
 */
export class Purse {
  readonly #turn = new InFlight(1);
  readonly #waits: Waits;
  readonly #stop: AbortSignal;
  #short: boolean;
  /** Requests in a row that got their money at once. */
  #granted = 0;
  #why = SHORT;
  #looking = false;
  /** Aborted when an attempt of this purchase has ended: its money may be back. */
  #ended = new AbortController();

  /** `bounded`: it is known beforehand that there is a budget, whose first requests may have to wait. */
  constructor(waits: Waits, stop: AbortSignal, bounded: boolean) {
    this.#waits = waits;
    this.#stop = stop;
    this.#short = bounded;
  }

  /** What it waits for, in words; null where it does not. */
  get waitingFor(): string | null {
    return this.#looking ? this.#why : null;
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
      if (!this.#short) {
        const end = await this.#made(attempt(() => undefined));
        if (!(end instanceof OverBudget)) return end;
        this.#refused(end);
      }
      const end = await this.#payInTurn(attempt, cut);
      if (end !== null) return end;
    }
  }

  /** Null where money is not short any more. */
  async #payInTurn(
    attempt: (granted: () => void) => Promise<AttemptEnd>,
    cut: (over: OverBudget) => void,
  ): Promise<Exclude<AttemptEnd, OverBudget> | null> {
    await this.#waits.during(this.#turn.enter(this.#stop), this.#why);
    let mine = true;
    const leave = () => {
      if (mine) this.#turn.leave();
      mine = false;
    };
    try {
      for (let look = LOOK_MS; this.#short; look = Math.min(MAX_LOOK_MS, 2 * look)) {
        const { signal } = this.#ended;
        const granted = () => {
          // As many as may be in flight before the first answer say nothing yet.
          if (mine && ++this.#granted > FIRST_REQUESTS) this.#short = false;
          leave();
        };
        const end = await this.#made(attempt(granted));
        if (!(end instanceof OverBudget)) return end;
        this.#refused(end);
        this.#looking = end.openMicros > 0 || end.unproven;
        if (this.#looking) await this.#nap(look, signal);
        else cut(end);
      }
      return null;
    } finally {
      this.#looking = false;
      leave();
    }
  }

  #refused({ unproven }: OverBudget): void {
    this.#short = true;
    this.#granted = 0;
    this.#why = unproven ? UNPROVEN : SHORT;
  }

  async #made(attempt: Promise<AttemptEnd>): Promise<AttemptEnd> {
    const end = await attempt;
    if (!(end instanceof OverBudget)) {
      this.#ended.abort();
      this.#ended = new AbortController();
    }
    return end;
  }

  async #nap(ms: number, ended: AbortSignal): Promise<void> {
    const nap = delay(ms, undefined, { signal: AbortSignal.any([this.#stop, ended]) }).catch(() => undefined);
    await this.#waits.during(nap, this.#why, Date.now() + ms);
    this.#stop.throwIfAborted();
  }
}
