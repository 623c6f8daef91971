import type { RateCost } from '../../core/limiter/limiter.js';
import type { Freshness } from '../../core/purchase/freshness.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { SpendCap } from '../../core/purchase/spend.js';
import type { KnownAnswer } from '../../core/rows/row-warehouse.js';

/** One unit of work: a URL, a rendered request. */
export interface Unit {
  readonly key: string;
  readonly unit: string;
}

/** The answer to one request, before its cost is split. */
export interface Bought {
  readonly requestId: string | null;
  /** Null where the answer has no cost: the estimate is used. */
  readonly costMicros: number | null;
  /** Whether the request waited in the service's own queue, where the answer says so. */
  readonly queued?: boolean | null;
  readonly units: readonly Omit<UnitOutcome, 'costMicros'>[];
}

/** The recorded facts of an answered start. */
export interface RunFacts {
  readonly run: string;
  /** The id of the request that started the run, where known. */
  readonly requestId: string | null;
}

/** How one start is made. */
export interface Start {
  /** Identifies this purchase. A run whose start got no answer is found by this tag. */
  readonly tag: string;
  /** The bound of the run's cost, in micro-dollars; null where there is none. */
  readonly limitMicros: number | null;
}

/** A start without an answer, whose run is searched for. */
export interface StartToFind {
  readonly tag: string;
  /** The earliest time of the run's start, in Unix ms. */
  readonly since: number;
  /** The service's error message, if there was one: it may name a run. */
  readonly message: string | null;
}

/** Slots for runs in progress, as purchases need them; see the port `Slots`. */
export interface RunSlots {
  /** Starts wait for a read of the list of runs: the time when it began, in Unix ms. Null or absent: there is no such read. */
  readonly listedSince?: number | null;
  take(owner: string, signal: AbortSignal): Promise<void>;
  name(owner: string, runId: string): Promise<void>;
  free(owner: string): Promise<void>;
  /** Reports that the service refused a start because it has no free slot. */
  refused(): Promise<void>;
}

/** How a long-running unit is bought. Each request is for one unit. */
export interface LongRunning {
  /** One attempt. Throws `ApiError`. */
  start(unit: Unit, start: Start, signal: AbortSignal): Promise<RunFacts & { readonly queued?: boolean | null }>;
  /** Waits for the end; null where the service no longer returns the run. Rejects with the signal's reason when aborted; the run stays in progress. */
  follow(unit: Unit, facts: RunFacts, startedAt: number, signal: AbortSignal): Promise<Bought | null>;
  /** Returns the run of a start without an answer; `none` where no run was started, null where that is not certain. */
  find(unit: Unit, start: StartToFind, signal: AbortSignal): Promise<RunFacts | 'none' | null>;
  /** The bound of the run's cost for this remaining budget, in micro-dollars; null where the cost cannot be bounded. */
  bound(unit: Unit, remainingMicros: number): number | null;
  /** Only runs in progress are followed; nothing is started. */
  readonly startsNothing: boolean;
  /** A run that takes longer (ms) is left running and its unit ends as `RUN_OVERDUE`. Absent: it is followed to its end. */
  readonly maxRunMs?: number | undefined;
  readonly slots: RunSlots;
}

/** The units to buy, and how a request for some of them is made. */
export interface PurchaseRequest {
  readonly segment: string;
  /** The token of this attempt, under which it claims units and writes intents. */
  readonly owner: string;
  readonly operation: string;
  readonly rateCost: RateCost;
  readonly units: readonly Unit[];
  readonly unitsPerRequest: number;
  /** The most that a request for these units may cost; fewer units cost no more. */
  estimateMicros(units: readonly Unit[]): number;
  /** The cost of a request for these units by the price table, where it is lower than the estimate. Default: the estimate. */
  listMicros?(units: readonly Unit[]): number;
  /** The part of the request that decides the price beside the operation. Default: the empty text. */
  tier?(units: readonly Unit[]): string;
  /** One attempt. Throws `ApiError`. */
  send(units: readonly Unit[], signal: AbortSignal): Promise<Bought>;
  /** Instead of `send`, for runs at the service. */
  readonly longRunning?: LongRunning | undefined;
  /** After this many milliseconds without an answer the intent is overdue. */
  readonly timeoutMs: number;
  readonly freshness?: Freshness | undefined;
  /** Returns answers to these units that the journal lacks, such as those of a warehouse: they are recorded and not bought again. */
  readonly known?: ((keys: readonly string[]) => Promise<readonly KnownAnswer[]>) | undefined;
  readonly resumedAt: number;
  /** A unit that the service refuses: `record` it as failed and continue, or `throw` for the whole request. */
  readonly refused: 'record' | 'throw';
  /** Whether the service has accepted such a request before this purchase. Default: no. */
  readonly accepted?: (() => Promise<boolean>) | undefined;
  /** Units are recorded as failed also where the service refuses all of them. */
  readonly recordsAll?: boolean | undefined;
  /** How often a unit with an unknown outcome is bought again. Default: 3. 0 for a start. */
  readonly maxRebuys?: number | undefined;
  /** The cap of the job, beside the team's caps. */
  readonly cap?: SpendCap | undefined;
  /** The cap of this purchase, in micro-dollars. */
  readonly mostMicros?: number | undefined;
}

export interface Control {
  /** Aborted: send nothing more, let requests in flight land. */
  readonly stop: AbortSignal;
  /** Aborted: end requests in flight. */
  readonly cut: AbortSignal;
  /** Longer waits (ms) are returned to the caller as `waitMs`. */
  readonly yieldAfterMs: number;
  progress?(progress: Progress): void;
}

export interface Progress {
  readonly landed: number;
  /** Units that this purchase bought and that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** Units whose runs are followed. */
  readonly running: number;
  readonly waitingFor: string | null;
}

/** How a purchase ended. */
export interface Receipt {
  /** Every unit has landed (as success or as a failure with a reason). */
  readonly complete: boolean;
  readonly requests: number;
  readonly bought: number;
  readonly failed: number;
  readonly costMicros: number;
  readonly unknownOutcomes: number;
  /** Runs that were followed when the purchase was stopped; they stay in progress at the service. */
  readonly leftRunning: number;
  /** If not complete: the milliseconds to wait before a retry. */
  readonly waitMs: number;
  readonly waitingFor: string | null;
}
