import type { Json } from './text/json.js';

/** Request of an agent run, as sent (API reference: /agent/runs). Unknown fields pass through. */
export interface AgentRequest {
  readonly query: string;
  readonly systemPrompt?: string;
  /** `data`: rows to work on; `exclusion`: rows to leave out. */
  readonly input?: {
    readonly data?: readonly { readonly [name: string]: Json }[];
    readonly exclusion?: readonly { readonly [name: string]: Json }[];
  };
  /** JSON Schema of the structured output; `toOutputSchema` converts a zod schema. */
  readonly outputSchema?: object | null;
  /** Default `auto`. */
  readonly effort?: string;
  readonly budget?: { readonly maxCostDollars?: number; readonly maxDurationSeconds?: number };
  /** A completed run to continue from. */
  readonly previousRunId?: string;
  /** Any JSON. */
  readonly metadata?: unknown;
  readonly dataSources?: readonly { readonly provider: string }[];
  readonly [field: string]: unknown;
}

/** A year, in seconds: no run of the service lasts that long. */
export const MAX_RUN_SECONDS = 31_536_000;
/** 24 days, in seconds: timers of the worker cannot be longer. */
export const MAX_DURATION_SECONDS = 2_073_600;

/** Options of the purchase of a run. */
export interface RunOptions {
  /**
   * Maximum age in ms of a landed answer that is used; an older answer is bought again. Default: a landed answer never expires. 0: a new
   * answer is always bought.
   */
  readonly refreshAfterMs?: number;
  /**
   * The cap of the run, in dollars. For a run that is billed by usage, the cap is sent as the budget. A run whose fixed price is higher
   * than the cap is not started.
   */
  readonly maxCostDollars?: number;
  /** Tokens of beta features (API reference: beta features). The token that `effort: max` needs is added. */
  readonly beta?: readonly string[];
  /** Further headers, without secrets: they are in histories. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Sends misspelt names and values, too. Default: they are refused. */
  readonly unchecked?: boolean;
}

export interface RunAgentOptions extends RunOptions {
  /**
   * Age in seconds at which the run is ended. Runs of the efforts `max` and `ultra` are stopped, so that their output is kept; other runs
   * are cancelled.
   */
  readonly maxDurationSeconds?: number;
  /** Whether the run is deleted at the service once its result has landed. */
  readonly deleteAfter?: boolean;
}

export type RunResearchOptions = RunOptions;

/** The state of a run. Times in Unix ms by the worker's clock. */
export interface RunSnapshot {
  readonly runId: string | null;
  /** The service's status; null until the start has been answered. */
  readonly status: string | null;
  readonly startedAt: number | null;
  /** Number of the run's events so far; null if the service has no list of events. */
  readonly events: number | null;
  readonly costDollars: number | null;
  readonly waitingFor: string | null;
}

/** Answer of the `progress` query of `runAgent` and `runResearch`: the state of the run at its last poll. */
export interface RunProgress extends RunSnapshot {
  readonly phase: 'running' | 'ending' | 'done';
  readonly ageMs: number;
  readonly polledAt: number | null;
}

/** A request whose answer is part of a result. `bought`: whether this run of the workflow paid for the request. */
export interface RunRequest {
  readonly requestId: string | null;
  readonly costDollars: number;
  readonly bought: boolean;
}

/** Result of the `runAgent` workflow: the run after its end, with any status and `stopReason`. */
export interface AgentRunResult {
  readonly runId: string;
  readonly status: string;
  readonly stopReason: string | null;
  /**
   * The output; null if the run has no output or the output is too large for a history. A large output is read from the journal by the
   * keys in `landed`.
   */
  readonly text: string | null;
  readonly structured: Json;
  readonly grounding: readonly Json[];
  readonly usage: Json;
  readonly error: Json;
  readonly costDollars: number;
  readonly requests: readonly RunRequest[];
  /** Keys of the whole record in the journal; `SearchflowPlugin.readLanded` reads the record. */
  readonly landed: readonly string[];
  /** Bytes of an output that was left out because of its size. */
  readonly leftOutBytes: number | null;
}

/** Result of the `runResearch` workflow: the task after its end. `task` is null if the task is too large for a history. */
export interface ResearchResult {
  readonly taskId: string | null;
  readonly status: string | null;
  readonly task: Json;
  readonly costDollars: number;
  readonly requests: readonly RunRequest[];
  readonly landed: readonly string[];
  readonly leftOutBytes: number | null;
}

/** Input of the activities that follow a run for a while. */
export interface RunStep<Q, C> {
  readonly request: Q;
  readonly call: C;
  /** Start of the workflow in Unix ms. Answers that landed after this time belong to the workflow. */
  readonly askedAt: number;
  /** The activity ends after this time, in ms. */
  readonly sliceMs?: number;
  /** The activity ends when the run has this age, in ms. */
  readonly untilAgeMs?: number;
}

/** The result of following a run in one activity. `look` is the last snapshot of the run; recorded histories have this old name. */
export type RunStepResult<R> =
  | { readonly ended: R; readonly look: null }
  | { readonly ended: null; readonly look: RunSnapshot };
