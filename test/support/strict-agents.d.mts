export interface StrictAgentsOptions {
  readonly slots?: number;
  /** Units a second; a start takes two. Null: no limit. */
  readonly qps?: number | null;
  readonly durationMs?: { readonly min: number; readonly max: number };
  readonly seed?: number;
  /** Whether the echo of a request has its metadata. */
  readonly echoesMetadata?: boolean;
  /** Status that runs end with. */
  readonly endsAs?: string;
  readonly costDollars?: number;
  /** How far the service's clock is from this one, in ms; null: it tells no times. */
  readonly clockMs?: number | null;
}

export type StrictEvent = { readonly what: 'start' | 'end' | 'look' } & (
  | { readonly how: 'reset' | 'lose' | 'named' | 'unnamed' }
  | { readonly how: 'names'; readonly id: string }
  | { readonly how: 'status'; readonly status: number; readonly body: unknown }
  | { readonly how: 'hold'; readonly until: Promise<void> }
);

export interface StrictRun {
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
}

export interface StrictReport {
  readonly starts: readonly {
    readonly at: number;
    readonly query: string;
    readonly refused: 'rate' | 'slots' | null;
    readonly id: string | null;
  }[];
  readonly runs: readonly {
    readonly id: string;
    readonly startedAt: number;
    readonly endsAt: number;
    readonly seenOverAt: number | null;
    readonly query: string;
    readonly status: string;
  }[];
  readonly polls: number;
  readonly now: number;
}

export interface StrictAgents {
  readonly url: string;
  readonly runs: Map<string, StrictRun>;
  readonly starts: StrictReport['starts'];
  next(...events: StrictEvent[]): void;
  inProgress(): number;
  report(): StrictReport;
  close(): Promise<void>;
}

export function startStrictAgents(options?: StrictAgentsOptions): Promise<StrictAgents>;
