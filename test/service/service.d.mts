/** A fault of a call, see `faults.mjs`; a number is short for a status, a text for a `how`. */
export type Fault = 'ok' | 'reset' | 'lost' | 'failed' | 'cut' | 'stall' | 'html' | 'empty' | number | FaultDetails;

export interface FaultDetails {
  /** Kind or noun of its calls: `start`, `end`, `look`, `contents`, `search`, `rows`, `agents`, `events`, `monitors`, …; none: any. */
  readonly what?: string;
  readonly how: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly ms?: number;
  readonly until?: Promise<unknown>;
  /** Id of another run than the one that was started. */
  readonly id?: string;
}

/** Affects a share of the calls, pseudo-randomly but the same on every run, or one call in `every`. */
export interface FaultRule extends FaultDetails {
  readonly share?: number;
  readonly seed?: number;
  readonly every?: number;
  /** Since the start of the service. */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

export interface ServiceOptions {
  /** The only accepted key; null: any. */
  readonly key?: string | null;
  /** Units in any second; null: no limit. */
  readonly qps?: number | null;
  /** Seconds in the header of a refusal for the rate; null: no header. */
  readonly retryAfter?: number | null;
  readonly latencyMs?: number;
  readonly faults?: readonly FaultRule[];
  readonly rows?: { readonly failureRate?: number; readonly textBytes?: number };
  readonly agents?: AgentOptions;
  readonly events?: EventOptions;
  readonly monitors?: { readonly count?: number };
}

export interface AgentOptions {
  readonly slots?: number | null;
  readonly durationMs?: { readonly min: number; readonly max: number };
  readonly seed?: number;
  /** Whether the echo of a request has its metadata. */
  readonly echoesMetadata?: boolean;
  /** Status with which runs end. */
  readonly endsAs?: string;
  /** Accepts a cancel or stop, and lets the run continue all the same. */
  readonly keepsRunning?: boolean;
  readonly costDollars?: number;
  /** Difference between the service's clock and this one, in ms; null: it sends no times. */
  readonly clockMs?: number | null;
}

export interface EventOptions {
  readonly count?: number;
  /** Unix ms. */
  readonly from?: number;
  readonly to?: number;
  readonly order?: 'newest' | 'oldest';
  readonly together?: number;
  readonly arrivingPerSecond?: number;
  readonly late?: number;
  readonly lateMs?: number;
  readonly repeatRecords?: number;
  readonly repeatPage?: number;
  readonly cursorTtlMs?: number | null;
}

export interface LoggedCall {
  /** From 1. */
  readonly call: number;
  /** In `performance.now()` of the service's process, on arrival and at the end of the connection. */
  readonly at: number;
  readonly doneAt: number | null;
  readonly method: string;
  readonly path: string;
  readonly noun: string;
  readonly kind: string;
  readonly key: string | null;
  readonly units: number;
  readonly body: unknown;
  readonly fault: Fault | null;
  readonly refused: 'rate' | 'slots' | null;
  /** Milliseconds by which a call was too early that was refused for the rate. */
  readonly earlyMs?: number;
  readonly status: number | null;
  readonly requestId: string;
  /** Units of a paid call, or monitors that a batch call affected. */
  readonly ids: readonly string[];
}

export interface AgentRun {
  readonly id: string;
  readonly request: { readonly query: string; readonly [name: string]: unknown };
  /** In `performance.now()`. */
  readonly startedAt: number;
  /** Likewise; may be moved. */
  endsAt: number;
  status: string;
  stopReason: string | null;
  /** Number of calls that read this run by itself. */
  readonly reads: number;
  readonly seenOverAt: number | null;
}

export interface AgentStart {
  readonly at: number;
  readonly query: string;
  readonly refused: 'rate' | 'slots' | null;
  readonly id: string | null;
}

export interface StoredMonitor {
  readonly id: string;
  readonly serial: number;
  name: string | null;
  status: string;
  metadata: Record<string, string> | null;
  search: { readonly query: string };
  webhook: { readonly url: string };
  readonly createdAt: string;
  updatedAt: string;
}

export type StoredRun = { readonly id: string; readonly monitorId: string; status: string } & Record<string, unknown>;

export interface Service {
  readonly url: string;
  /** A key that it accepts. */
  readonly key: string;
  /** Every call, as it arrived. */
  readonly log: readonly LoggedCall[];
  readonly purchases: {
    report(): {
      readonly micros: number;
      readonly requests: number;
      readonly units: Readonly<Record<string, { readonly times: number; readonly micros: number }>>;
    };
    /** Micro-dollars by request id. */
    byRequest(): Map<string, number>;
    /** Units that were charged more than once, with the number of repeats. */
    chargedAgain(): Map<string, number>;
  };
  /** Faults of the next calls of their kind. */
  next(...faults: FaultDetails[]): void;
  /** Decides about each call by its number from 1; faults of `next` come first. */
  set faultOf(decide: (call: number, method: string, path: string) => Fault);
  /** Called before each call's work: changes by another client meanwhile. */
  set meanwhile(act: (call: number, method: string, path: string) => void);
  readonly agents: {
    readonly runs: Map<string, AgentRun>;
    /** Every start that reached the service. */
    readonly starts: readonly AgentStart[];
    inProgress(): number;
    report(): { readonly starts: readonly AgentStart[]; readonly runs: readonly (AgentRun & { query: string })[] };
  };
  readonly events: {
    now(): number;
    /** Stops new events. */
    freeze(): void;
    /** Moves the clock forward. */
    advance(ms: number): void;
    /** Ids of all events so far, and the time of the newest. */
    ids(): readonly string[];
    newest(): number;
    /** Time of each event, and the time from which it is listed; Unix ms. */
    happened(): readonly { readonly id: string; readonly at: number; readonly seenAt: number }[];
  };
  readonly monitors: {
    readonly records: Map<string, StoredMonitor>;
    readonly runs: Map<string, StoredRun[]>;
    /** Null: the answer for a new monitor has none. */
    secret: string | null;
    /** Ends of batch calls, see `monitors.mjs`. */
    batches: 'honest' | 'endless' | 'circling' | 'inventing';
    add(fields?: Partial<StoredMonitor>): StoredMonitor;
    /** Changes a monitor, as another client would. */
    change(id: string, fields: Partial<StoredMonitor>): void;
    /** Ids by status. */
    idsOf(status: string): string[];
  };
  close(): Promise<void>;
}

export function startService(options?: ServiceOptions): Promise<Service>;

/** One fault for each call by its number, in an order that does not follow the kinds of calls. */
export function byChance(faults: readonly Fault[]): (call: number) => Fault;
