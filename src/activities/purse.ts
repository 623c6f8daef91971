import { OverBudget } from '../core/spend.js';
import type { AttemptEnd } from './attempt.js';
import { InFlight } from './in-flight.js';
import type { Waits } from './waits.js';

/** First and longest wait for money in flight to come back, in ms. Each look takes a place on the meter. */
const LOOK_MS = 500;
const MAX_LOOK_MS = 5000;

/**
 * The money of one purchase. While there is enough nobody notices it. Once a request was refused for want of it, one at a time
 * asks for more, so that a hundred that wait don't use up the rate limit by asking.
 */
export class Purse {
  readonly #turn = new InFlight(1);
  readonly #waits: Waits;
  readonly #stop: AbortSignal;
  #short = false;

  constructor(waits: Waits, stop: AbortSignal) {
    this.#waits = waits;
    this.#stop = stop;
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
      const end = await attempt(() => undefined);
      if (!(end instanceof OverBudget)) return end;
      this.#short = true;
    }
    await this.#waits.during(this.#turn.enter(this.#stop), 'the budget');
    let mine = true;
    const leave = () => {
      if (mine) this.#turn.leave();
      mine = false;
    };
    try {
      for (let look = LOOK_MS; ; look = Math.min(MAX_LOOK_MS, 2 * look)) {
        const end = await attempt(leave);
        if (!(end instanceof OverBudget)) return end;
        if (end.openMicros > 0) await this.#waits.sleep(look, 'the budget: money in flight may come back', this.#stop);
        else cut(end);
      }
    } finally {
      leave();
    }
  }
}
