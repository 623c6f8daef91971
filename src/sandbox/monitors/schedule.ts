import { type Monitor, periodMs } from './monitor.js';

/** The shortest gap between two runs in milliseconds, however fast the clock. */
const LEAST_MS = 20;
/** Ticks that are caught up at most after the process slept. */
const CATCH_UP = 10;

/** When each monitor runs next: every period from its creation on, on a clock that may be faster than the wall's. */
export class Schedule {
  readonly #clock: number;
  readonly #next = new Map<string, number>();

  constructor(clock: number) {
    this.#clock = clock;
  }

  /** Milliseconds of the wall clock; null where nothing is scheduled. */
  next(id: string): number | null {
    return this.#next.get(id) ?? null;
  }

  first(): { readonly id: string; readonly at: number } | null {
    let first: { id: string; at: number } | null = null;
    for (const [id, at] of this.#next) if (!first || at < first.at) first = { id, at };
    return first;
  }

  /** Takes up a monitor as it is now; its next run is the first one after `now`. */
  set(monitor: Monitor, now: number): void {
    const every = this.#every(monitor);
    if (every === null) this.#next.delete(monitor.id);
    else this.#next.set(monitor.id, after(monitor.createdAt, every, now));
  }

  /** Moves on from the tick at `at`; of many that were missed only the last few are made up for. */
  advance(monitor: Monitor, at: number, now: number): void {
    const every = this.#every(monitor);
    if (every !== null)
      this.#next.set(monitor.id, after(monitor.createdAt, every, Math.max(at, now - every * CATCH_UP)));
  }

  remove(id: string): void {
    this.#next.delete(id);
  }

  #every({ status, trigger }: Monitor): number | null {
    if (status !== 'active' || trigger === null) return null;
    // Whole, so that a time divided by it gives back its number exactly.
    return Math.max(LEAST_MS, Math.round((periodMs(trigger.period) ?? 3_600_000) / this.#clock));
  }
}

function after(anchor: number, every: number, time: number): number {
  return anchor + (Math.floor((time - anchor) / every) + 1) * every;
}
