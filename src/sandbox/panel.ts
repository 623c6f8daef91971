import type { Fault } from './fault.js';
import type { Bill } from './purchase-book.js';
import type { RequestLogEntry } from './request-log.js';

/** Counts over every request since the start or the last reset. */
export interface SandboxStats {
  readonly requests: number;
  /** Requests by the status sent; `0` is a connection cut without one. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Turned away by the rate limit. */
  readonly limited: number;
  readonly dollars: number;
  /** Most requests the limit let through in any one second. */
  readonly maxInSlidingSecond: number;
}

/** What a test or a person may ask of a running sandbox and change about it; the same by HTTP under `/__sandbox/`. */
export interface Panel {
  /** What was bought; `keys: false` leaves the units out. */
  bill(options?: { readonly keys?: boolean }): Bill;
  /** Requests from number `from` on (from the first one kept). */
  log(from?: number): readonly RequestLogEntry[];
  stats(): SandboxStats;
  /** Empties book, log and limit, gives the first credits back, and begins the faults anew. */
  reset(): void;
  /** Replaces the faults; their counts and times begin now. Throws where one is malformed. */
  setFaults(faults: readonly Fault[]): void;
  /** Sets the team's credits; null is no end. */
  setCredits(dollars: number | null): void;
}
