import { z } from 'zod';
import type { Bill } from './ledger/purchase-log.js';
import type { Delivery } from './monitors/webhooks.js';
import type { Fault } from './server/fault.js';
import type { RequestLogEntry } from './server/request-log.js';
import { eventTypes } from './websets/story.js';

/** Counts of all requests since the start or the last reset. */
export interface SandboxStats {
  readonly requests: number;
  /** Number of requests by the status that was sent. `0`: the connection was closed without a status. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Number of requests that the rate limit refused. */
  readonly limited: number;
  readonly dollars: number;
  /** Highest rate cost of the admitted requests in any period of one second. */
  readonly maxInSlidingSecond: number;
}

/** Current state, for the checks of tests. */
export interface SandboxState {
  readonly agentRuns: {
    readonly inProgress: number;
    /** Highest number of runs in progress so far. */
    readonly maxInProgress: number;
    readonly byStatus: Readonly<Record<string, number>>;
  };
  readonly research: { readonly count: number; readonly inProgress: number; readonly maxInProgress: number };
  readonly monitors: {
    readonly byStatus: Readonly<Record<string, number>>;
    readonly runsByStatus: Readonly<Record<string, number>>;
  };
  /** Number of monitor events by state of their delivery, and the last attempts. */
  readonly webhooks: {
    readonly delivered: number;
    readonly failed: number;
    readonly waiting: number;
    readonly attempts: readonly Delivery[];
  };
  /** `count`: number of webset events so far; `triggered`: how many of them were triggered by hand. */
  readonly events: { readonly count: number; readonly triggered: number };
}

export const triggerSchema = z.union(
  [
    z.strictObject({ event: z.enum(eventTypes), count: z.number().int().min(1).max(10_000).optional() }),
    z.strictObject({ monitorRun: z.string().min(1) }),
    z.strictObject({ disableMonitor: z.string().min(1) }),
  ],
  {
    error: ({ input }) =>
      `${JSON.stringify(input)?.slice(0, 200)} cannot be triggered: an event (1 to 10,000 of ${eventTypes.join(', ')}), or monitorRun or disableMonitor with the id of a monitor`,
  },
);

/** An event to trigger now: webset events of a type, the run of a monitor, or the service disabling a monitor. */
export type Trigger = z.infer<typeof triggerSchema>;

/** Queries and changes of a running sandbox, for tests and people. They are also available by HTTP, under `/__sandbox/`. */
export interface Panel {
  /** The purchases. `keys: false` leaves out the units. */
  bill(options?: { readonly keys?: boolean }): Bill;
  /** Requests from number `from` on; default: all that are kept. */
  log(from?: number): readonly RequestLogEntry[];
  stats(): SandboxStats;
  state(): SandboxState;
  /** Triggers an event; returns the ids of the results. Throws if there is no such monitor. */
  trigger(what: Trigger): readonly string[];
  /** Empties purchase log, request log, rate limit and state, restores the initial credits, and restarts the faults. */
  reset(): void;
  /** Replaces the faults. Counts and times of the new faults start now. Throws if a fault is malformed. */
  setFaults(faults: readonly Fault[]): void;
  /** Sets the team's credits; null: no limit. */
  setCredits(dollars: number | null): void;
}
