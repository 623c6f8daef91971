/** What goes wrong with a call, see `faults.mjs`; a number is short for a status, a text for a `how`. */
export type Fault = 'ok' | 'reset' | 'lost' | 'failed' | 'cut' | 'stall' | 'html' | 'empty' | number | FaultDetails;

export interface FaultDetails {
  /** Kind or noun of the calls that it is for: `start`, `end`, `look`, `contents`, `search`, `rows`, `agents`, `events`, `monitors`, …; none: any. */
  readonly what?: string;
  readonly how: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly ms?: number;
  readonly until?: Promise<unknown>;
  /** Of another run than the one that was started. */
  readonly id?: string;
}

/** Hits a part of the calls, by chance that is the same on every run, or every so many of them. */
export interface FaultRule extends FaultDetails {
  readonly share?: number;
  readonly seed?: number;
  readonly every?: number;
  /** Since the start of the service. */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

export interface ServiceOptions {
  /** The only key that is taken; null: any. */
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
  /** Status that runs end with. */
  readonly endsAs?: string;
  /** Takes a cancel or stop, and lets the run go on all the same. */
  readonly keepsRunning?: boolean;
  readonly costDollars?: number;
  /** How far the service's clock is from this one, in ms; null: it tells no times. */
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
  /** Of `performance.now()` in the service's process, on arrival and when the connection was through with it. */
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
  /** How much too early a call was that was refused for the rate. */
  readonly earlyMs?: number;
  readonly status: number | null;
  readonly requestId: string;
  /** Units that a paid call was about, or monitors that a batch call affected. */
  readonly ids: readonly string[];
}

export interface AgentRun {
  readonly id: string;
  readonly request: { readonly query: string; readonly [name: string]: unknown };
  /** Of `performance.now()`. */
  readonly startedAt: number;
  /** Likewise; may be moved. */
  endsAt: number;
  status: string;
  stopReason: string | null;
  /** How often it was read by itself. */
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
  /** A key that it takes. */
  readonly key: string;
  /** Every call, as it arrived. */
  readonly log: readonly LoggedCall[];
  readonly book: {
    report(): {
      readonly micros: number;
      readonly requests: number;
      readonly units: Readonly<Record<string, { readonly times: number; readonly micros: number }>>;
    };
    /** Micro-dollars by request id. */
    byRequest(): Map<string, number>;
    /** Units that were charged more than once, and how often beyond the first time. */
    chargedAgain(): Map<string, number>;
  };
  /** The next calls of their kind go so. */
  next(...faults: FaultDetails[]): void;
  /** Decides about each call by its number from 1; what `next` holds comes first. */
  set faultOf(decide: (call: number, method: string, path: string) => Fault);
  /** Called before each call's work: what somebody else does meanwhile. */
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
    /** No more events happen. */
    freeze(): void;
    /** Moves the clock ahead. */
    advance(ms: number): void;
    /** Ids of everything that has happened, and the time of the newest. */
    ids(): readonly string[];
    newest(): number;
    /** When each happened, and from when it is seen; Unix ms. */
    happened(): readonly { readonly id: string; readonly at: number; readonly seenAt: number }[];
  };
  readonly monitors: {
    readonly records: Map<string, StoredMonitor>;
    readonly runs: Map<string, StoredRun[]>;
    /** Null: a new monitor's answer has none. */
    secret: string | null;
    /** How batch calls end, see `monitors.mjs`. */
    batches: 'honest' | 'endless' | 'circling' | 'inventing';
    add(fields?: Partial<StoredMonitor>): StoredMonitor;
    /** Somebody changes a monitor. */
    change(id: string, fields: Partial<StoredMonitor>): void;
    /** Ids by status. */
    idsOf(status: string): string[];
  };
  close(): Promise<void>;
}

export function startService(options?: ServiceOptions): Promise<Service>;

/** One fault for each call by its number, in an order that does not follow the kinds of calls. */
export function byChance(faults: readonly Fault[]): (call: number) => Fault;
