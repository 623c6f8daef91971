import { type Monitor, periodMs } from './monitor.js';

/** Minimum time between two runs of a monitor, in milliseconds of the wall clock. */
const LEAST_MS = 20;
/** Maximum number of missed runs that are started after the process was suspended. */
const CATCH_UP = 10;

/**
 * Time of the next run of each monitor: one run per period, counted from the creation of the monitor, on a clock that may be faster than
 * the wall clock.
 */
export class Schedule {
  readonly #clock: number;
  readonly #next = new Map<string, number>();

  constructor(clock: number) {
    this.#clock = clock;
  }

  /** Milliseconds of the wall clock; null if no run is scheduled. */
  next(id: string): number | null {
    return this.#next.get(id) ?? null;
  }

  first(): { readonly id: string; readonly at: number } | null {
    let first: { id: string; at: number } | null = null;
    for (const [id, at] of this.#next) if (!first || at < first.at) first = { id, at };
    return first;
  }

  /** Adds a monitor in its current state; its next run is the first one after `now`. */
  set(monitor: Monitor, now: number): void {
    const every = this.#every(monitor);
    if (every === null) this.#next.delete(monitor.id);
    else this.#next.set(monitor.id, after(monitor.createdAt, every, now));
  }

  /** Sets the next run after the run that was due at `at`. Of many missed runs only the last few are started. */
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
    // The period is a whole number of milliseconds, so that the time of a run is calculated exactly.
    return Math.max(LEAST_MS, Math.round((periodMs(trigger.period) ?? 3_600_000) / this.#clock));
  }
}

function after(anchor: number, every: number, time: number): number {
  return anchor + (Math.floor((time - anchor) / every) + 1) * every;
}
