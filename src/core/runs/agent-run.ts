import type { Json } from '../text/json.js';

/** Request of an agent run, as it reaches the service (interface section 4.7, public facts 8.1). Unknown fields pass through. */
export interface AgentRequest {
  readonly query: string;
  readonly systemPrompt?: string;
  /** Rows to work on, and rows to leave out. */
  readonly input?: {
    readonly data?: readonly { readonly [name: string]: Json }[];
    readonly exclusion?: readonly { readonly [name: string]: Json }[];
  };
  /** JSON Schema of the structured output; `toOutputSchema` makes one of a zod schema. */
  readonly outputSchema?: object | null;
  /** Default `auto`. */
  readonly effort?: string;
  readonly budget?: { readonly maxCostDollars?: number; readonly maxDurationSeconds?: number };
  /** A completed run to go on from. */
  readonly previousRunId?: string;
  readonly metadata?: { readonly [name: string]: string };
  readonly dataSources?: readonly { readonly provider: string }[];
  readonly [field: string]: unknown;
}

/** How something that runs on is bought. */
export interface RunOptions {
  /** An answer that landed longer ago than this (ms) is bought again; default: a landed answer never expires, 0: always new. */
  readonly refreshAfterMs?: number;
  /** What the run may cost: a metered one is sent with it as its budget, a dearer one is not started. */
  readonly maxCostDollars?: number;
  /** Tokens of beta features (interface section 9). */
  readonly beta?: readonly string[];
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

export interface RunAgentOptions extends RunOptions {
  /** A run that takes longer is stopped, so that its output is kept (`max`, `ultra`), or cancelled. */
  readonly maxDurationSeconds?: number;
  /** Delete the run at the service once its result has landed. */
  readonly deleteAfter?: boolean;
}

export interface RunResearchOptions extends Omit<RunOptions, 'beta' | 'extraHeaders'> {
  /** Form of the operations: `v0` or `v1` (public facts 6); default the contract's. */
  readonly variant?: string;
}

/** Where a run stands. Times in Unix ms by the worker's clock. */
export interface RunSnapshot {
  readonly runId: string | null;
  /** As the service says; null before the start was answered. */
  readonly status: string | null;
  readonly startedAt: number | null;
  /** Events of the run so far; null where the service doesn't list them. */
  readonly events: number | null;
  readonly costDollars: number | null;
  readonly waitingFor: string | null;
}

/** What the `progress` query of `runAgent` and `runResearch` answers: the run as it was last looked at. */
export interface RunProgress extends RunSnapshot {
  readonly phase: 'running' | 'ending' | 'done';
  readonly ageMs: number;
  readonly lookedAt: number | null;
}

/** A request that a result was made with. `bought`: paid for by this run of the workflow. */
export interface RunRequest {
  readonly requestId: string | null;
  readonly costDollars: number;
  readonly bought: boolean;
}

/** Result of the `runAgent` workflow: the run as it ended, whatever its status and `stopReason` are called. */
export interface AgentRunResult {
  readonly runId: string;
  readonly status: string;
  readonly stopReason: string | null;
  /** The output; null where there is none, and where it is too large for a history: then `landed` says where it is. */
  readonly text: string | null;
  readonly structured: Json;
  readonly grounding: readonly Json[];
  readonly usage: Json;
  readonly error: Json;
  readonly costDollars: number;
  readonly requests: readonly RunRequest[];
  /** Keys under which the journal holds the whole record: `SearchflowPlugin.readLanded` gives it back. */
  readonly landed: readonly string[];
  /** Bytes of an output that was left out. */
  readonly leftOutBytes: number | null;
}

/** Result of the `runResearch` workflow: the task as it ended. `task` is null where it is too large for a history. */
export interface ResearchResult {
  readonly taskId: string | null;
  readonly status: string | null;
  readonly task: Json;
  readonly costDollars: number;
  readonly requests: readonly RunRequest[];
  readonly landed: readonly string[];
  readonly leftOutBytes: number | null;
}

/** Input of the activities that go some way with a run. */
export interface RunStep<Q, C> {
  readonly request: Q;
  readonly call: C;
  /** Unix ms of the workflow's start: what landed since then is its own. */
  readonly askedAt: number;
  /** Hands back after this time. */
  readonly sliceMs?: number;
  /** … or once the run is so old. */
  readonly untilAgeMs?: number;
}

/** How far a run went in one activity. */
export type RunStepResult<R> =
  | { readonly ended: R; readonly look: null }
  | { readonly ended: null; readonly look: RunSnapshot };
