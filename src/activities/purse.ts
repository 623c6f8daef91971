import { setTimeout as delay } from 'node:timers/promises';
import { OverBudget } from '../core/spend.js';
import type { AttemptEnd } from './attempt.js';
import { InFlight } from './in-flight.js';
import type { Waits } from './waits.js';

/** First and longest wait for money that others have in flight, in ms. Each look takes a place on the meter. */
const LOOK_MS = 500;
const MAX_LOOK_MS = 5000;
const WHY = 'its budget: money in flight may come back';

/**
 * The money of one purchase. While there is enough nobody notices it. Once a request was refused for want of it, one at a time
 * asks for more, so that a hundred that wait don't use up the rate limit by asking.
 */
export class Purse {
  readonly #turn = new InFlight(1);
  readonly #waits: Waits;
  readonly #stop: AbortSignal;
  #short = false;
  #looking = false;
  /** Aborted when an attempt of this purchase has ended: its money may be back. */
  #ended = new AbortController();

  constructor(waits: Waits, stop: AbortSignal) {
    this.#waits = waits;
    this.#stop = stop;
  }

  /** What it waits for, in words; null where it does not. */
  get waitingFor(): string | null {
    return this.#looking ? WHY : null;
  }

  /**
   * Makes an attempt when there is money for it. `attempt` tells `granted` once the money is its own. Where money is in flight
   * that may come back it is waited for; where none is, `cut` makes the attempt smaller or throws.
   */
  async pay(
    attempt: (granted: () => void) => Promise<AttemptEnd>,
    cut: (over: OverBudget) => void,
  ): Promise<Exclude<AttemptEnd, OverBudget>> {
    if (!this.#short) {
      const end = await this.#made(attempt(() => undefined));
      if (!(end instanceof OverBudget)) return end;
      this.#short = true;
    }
    await this.#waits.during(this.#turn.enter(this.#stop), WHY);
    let mine = true;
    const leave = () => {
      if (mine) this.#turn.leave();
      mine = false;
    };
    try {
      for (let look = LOOK_MS; ; look = Math.min(MAX_LOOK_MS, 2 * look)) {
        const { signal } = this.#ended;
        const end = await this.#made(attempt(leave));
        if (!(end instanceof OverBudget)) return end;
        this.#looking = end.openMicros > 0;
        if (this.#looking) await this.#nap(look, signal);
        else cut(end);
      }
    } finally {
      this.#looking = false;
      leave();
    }
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
    await this.#waits.during(nap, WHY, Date.now() + ms);
    this.#stop.throwIfAborted();
  }
}
