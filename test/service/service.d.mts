/** A fault of a call; see `faults.mjs`. A number stands for `{ how: 'status', status }`, a text for `{ how }`. */
export type Fault = 'ok' | 'reset' | 'lost' | 'failed' | 'cut' | 'stall' | 'html' | 'empty' | number | FaultDetails;

export interface FaultDetails {
  /**
   * Kind or noun of the affected calls: `start`, `end`, `look`, `contents`, `search`, `rows`, `agents`, `events`, `monitors`, …; without it
   * all calls are affected.
   */
  readonly what?: string;
  readonly how: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly ms?: number;
  readonly until?: Promise<unknown>;
  /** For `names`: the id of the other run that the answer names. */
  readonly id?: string;
}

/** A rule affects a share of the calls, pseudo-randomly but the same on every run, or one of `every` calls. */
export interface FaultRule extends FaultDetails {
  readonly share?: number;
  readonly seed?: number;
  readonly every?: number;
}

export interface ServiceOptions {
  /** The only accepted key; null accepts any key. */
  readonly key?: string | null;
  /** The only key that the bill accepts. */
  readonly serviceKey?: string;
  /** Units in any period of one second; null: no limit. */
  readonly qps?: number | null;
  /** Seconds in the header `Retry-After` of an answer 429; null: no header. */
  readonly retryAfter?: number | null;
  readonly latencyMs?: number;
  readonly faults?: readonly FaultRule[];
  readonly rows?: {
    readonly failureRate?: number;
    readonly textBytes?: number;
    /** How often a page with `slow` in its URL times out; default once. */
    readonly timeouts?: number;
  };
  readonly agents?: AgentOptions;
  readonly events?: EventOptions;
  readonly monitors?: { readonly count?: number };
}

export interface AgentOptions {
  readonly slots?: number | null;
  readonly durationMs?: { readonly min: number; readonly max: number };
  readonly seed?: number;
  /** Whether the record of a run has the metadata of its request. */
  readonly echoesMetadata?: boolean;
  /** The final status of runs. */
  readonly endsAs?: string;
  /** Whether a run continues although its cancel or stop was accepted. */
  readonly keepsRunning?: boolean;
  readonly costDollars?: number;
  /** How far the service's clock is ahead of this one, in ms; with null its answers have no times. */
  readonly clockMs?: number | null;
}

export interface EventOptions {
  readonly count?: number;
  /** Time of the first event, in Unix ms. */
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
  /** Number of the call, from 1. */
  readonly call: number;
  /** `at`: arrival of the call. `doneAt`: end of its connection. Both are `performance.now()` of the service's process. */
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
  /** How many milliseconds too early the call was, if it was refused for the rate. */
  readonly earlyMs?: number;
  readonly status: number | null;
  readonly requestId: string;
  /** Units of a paid call, or monitors that a batch call affected. */
  readonly ids: readonly string[];
}

export interface AgentRun {
  readonly id: string;
  readonly request: { readonly query: string; readonly [name: string]: unknown };
  /** Start of the run, by `performance.now()`. */
  readonly startedAt: number;
  /** End of the run, by `performance.now()`; a test may change it. */
  endsAt: number;
  status: string;
  stopReason: string | null;
  /** Number of calls that read only this run. */
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
  /** A key that the service accepts. */
  readonly key: string;
  readonly serviceKey: string;
  /** Every call, in the order of arrival. */
  readonly log: readonly LoggedCall[];
  readonly purchases: {
    report(): {
      readonly micros: number;
      readonly requests: number;
      readonly units: Readonly<Record<string, { readonly times: number; readonly micros: number }>>;
    };
    /** The charge of each request in micro-dollars, by request id. */
    byRequest(): Map<string, number>;
    /** Units that were charged more than once, with the number of charges after the first. */
    chargedAgain(): Map<string, number>;
  };
  /** Queues faults for the next calls of their kinds. */
  next(...faults: FaultDetails[]): void;
  /** Sets the function that decides the fault of each call, by the call's number from 1. Faults that `next` queued come first. */
  set faultOf(decide: (call: number, method: string, path: string) => Fault);
  /** Sets a function that is called before the work of each call, to make changes as another client. */
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
    /** Moves the clock of the events forward. */
    advance(ms: number): void;
    /** Ids of all events so far. */
    ids(): readonly string[];
    newest(): number;
    /** For each event its time, and the time from which the list has it, in Unix ms. */
    happened(): readonly { readonly id: string; readonly at: number; readonly seenAt: number }[];
  };
  readonly monitors: {
    readonly records: Map<string, StoredMonitor>;
    readonly runs: Map<string, StoredRun[]>;
    /** The webhook secret of new monitors; with null the answer has no secret. */
    secret: string | null;
    add(fields?: Partial<StoredMonitor>): StoredMonitor;
    /** Changes a monitor, as another client would. */
    change(id: string, fields: Partial<StoredMonitor>): void;
  };
  readonly bill: {
    /** The id of a key. */
    idOf(key: string): string;
    /** Charges a key for the work of another program. `day`: `2026-11-21`. */
    charge(key: string, day: string, price: string, quantity: number, micros: number): void;
    /** Changes the next answers. */
    change: ((answer: Record<string, unknown>) => Record<string, unknown>) | null;
  };
  close(): Promise<void>;
}

export function startService(options?: ServiceOptions): Promise<Service>;

/** Returns the fault of each call by its number, in an order that does not depend on the kinds of calls. */
export function byChance(faults: readonly Fault[]): (call: number) => Fault;
