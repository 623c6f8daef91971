import { z } from 'zod';
import type { Bill } from './ledger/purchase-log.js';
import type { Delivery } from './monitors/webhooks.js';
import type { Fault } from './server/fault.js';
import type { RequestLogEntry } from './server/request-log.js';
import { eventTypes } from './websets/story.js';

/** Counts over every request since the start or the last reset. */
export interface SandboxStats {
  readonly requests: number;
  /** Requests by the status sent; `0` is a connection cut without one. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Turned away by the rate limit. */
  readonly limited: number;
  readonly dollars: number;
  /** Most requests, by weight, that the limit let through in any one second. */
  readonly maxInSlidingSecond: number;
}

/** What is there now, as tests judge it. */
export interface SandboxState {
  readonly agentRuns: {
    readonly inProgress: number;
    /** The most that were ever in progress at once. */
    readonly maxInProgress: number;
    readonly byStatus: Readonly<Record<string, number>>;
  };
  readonly research: { readonly count: number; readonly inProgress: number; readonly maxInProgress: number };
  readonly monitors: {
    readonly byStatus: Readonly<Record<string, number>>;
    readonly runsByStatus: Readonly<Record<string, number>>;
  };
  /** Events of monitors on their way to webhooks, and the last attempts. */
  readonly webhooks: {
    readonly delivered: number;
    readonly failed: number;
    readonly waiting: number;
    readonly attempts: readonly Delivery[];
  };
  /** Webset events that have happened; of them `triggered` by hand. */
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
      `${JSON.stringify(input)?.slice(0, 200)} can't be triggered: an event (1 to 10,000 of ${eventTypes.join(', ')}), or monitorRun or disableMonitor with the id of a monitor`,
  },
);

/** Something to happen now: webset events of a type, the run of a monitor, or the service disabling a monitor. */
export type Trigger = z.infer<typeof triggerSchema>;

/** What a test or a person may ask of a running sandbox and change about it; the same by HTTP under `/__sandbox/`. */
export interface Panel {
  /** What was bought; `keys: false` leaves the units out. */
  bill(options?: { readonly keys?: boolean }): Bill;
  /** Requests from number `from` on (from the first one kept). */
  log(from?: number): readonly RequestLogEntry[];
  stats(): SandboxStats;
  state(): SandboxState;
  /** Makes something happen; answers with the ids of what did. Throws where there is no such monitor. */
  trigger(what: Trigger): readonly string[];
  /** Empties purchase log, log, limit and state, gives the first credits back, and begins the faults anew. */
  reset(): void;
  /** Replaces the faults; their counts and times begin now. Throws where one is malformed. */
  setFaults(faults: readonly Fault[]): void;
  /** Sets the team's credits; null is no end. */
  setCredits(dollars: number | null): void;
}
