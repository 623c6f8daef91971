import type { RateCost } from '../../core/limiter/limiter.js';
import type { Freshness, UnitOutcome } from '../../core/purchase/journal.js';
import type { SpendCap } from '../../core/purchase/spend.js';
import type { KnownAnswer } from '../../core/rows/sink.js';

/** One unit of work: a URL, a rendered request. */
export interface Unit {
  readonly key: string;
  readonly unit: string;
}

/** What one request brought, before its cost is split. */
export interface Bought {
  readonly requestId: string | null;
  /** Null where the wire says no cost: the estimate is taken. */
  readonly costMicros: number | null;
  /** Whether the answer had waited in the service's own queue, where the wire says so. */
  readonly queued?: boolean | null;
  readonly units: readonly Omit<UnitOutcome, 'costMicros'>[];
}

/** What is noted of a start that was answered. */
export interface RunFacts {
  readonly run: string;
  /** Of the request that started it, where known. */
  readonly requestId: string | null;
}

/** How one start is made. */
export interface Start {
  /** Tells this purchase from every other one; what runs is looked for by it where the answer got lost. */
  readonly tag: string;
  /** What the run may cost at most, in micro-dollars; null where nobody bounds it. */
  readonly limitMicros: number | null;
}

/** A start without an answer, whose run is looked for. */
export interface StartToFind {
  readonly tag: string;
  /** Unix ms before which it made nothing. */
  readonly since: number;
  /** What the service said instead of an answer, if it did: it may name a run. */
  readonly said: string | null;
}

/** Places for runs in progress, as purchase needs them; see the port `Slots`. */
export interface RunSlots {
  take(owner: string, signal: AbortSignal): Promise<void>;
  name(owner: string, runId: string): Promise<void>;
  free(owner: string): Promise<void>;
  /** The service said that no place is free. */
  refused(): Promise<void>;
}

/** How something is bought that runs on at the service after its start. A request is for one unit. */
export interface LongRunning {
  /** One attempt. Throws `ApiError`. */
  start(unit: Unit, start: Start, signal: AbortSignal): Promise<RunFacts & { readonly queued?: boolean | null }>;
  /** Waits for the end; null where the service tells nothing more of the run. Rejects with the signal's reason when aborted: the run goes on. */
  follow(unit: Unit, facts: RunFacts, startedAt: number, signal: AbortSignal): Promise<Bought | null>;
  /**
   * The run that a start without an answer made; `none` where it can be told by now that there is none, null where it can't be
   * told.
   */
  find(unit: Unit, start: StartToFind, signal: AbortSignal): Promise<RunFacts | 'none' | null>;
  /** The most that the run may be let cost where so much is left, in micro-dollars; null where its cost can't be bounded so. */
  bound(unit: Unit, remainingMicros: number): number | null;
  /** Only what runs already is followed. */
  readonly startsNothing: boolean;
  /** A run that takes longer (ms) is left running, its unit ends as `RUN_OVERDUE`; absent: it is followed to its end. */
  readonly maxRunMs?: number | undefined;
  readonly slots: RunSlots;
}

/** What to buy, and how one request for some of it is made. */
export interface PurchaseRequest {
  readonly segment: string;
  /** Token of this attempt: claims and intents are in its name. */
  readonly owner: string;
  readonly operation: string;
  readonly rateCost: RateCost;
  readonly units: readonly Unit[];
  readonly unitsPerRequest: number;
  /** The most that a request for these may cost; less for fewer units. */
  estimateMicros(units: readonly Unit[]): number;
  /** What a request for these costs by the price table, where that is less; default the same. */
  listMicros?(units: readonly Unit[]): number;
  /** What decides the price of a request for these beside the operation; default the empty text. */
  tier?(units: readonly Unit[]): string;
  /** One attempt. Throws `ApiError`. */
  send(units: readonly Unit[], signal: AbortSignal): Promise<Bought>;
  /** In the place of `send`, for what is answered long after its start. */
  readonly longRunning?: LongRunning | undefined;
  /** After this many milliseconds without an answer the intent is overdue. */
  readonly timeoutMs: number;
  readonly freshness?: Freshness | undefined;
  /** Answers to these units that were bought though the journal does not know it: taken, not bought again. */
  readonly known?: ((keys: readonly string[]) => Promise<readonly KnownAnswer[]>) | undefined;
  readonly resumedAt: number;
  /** A unit that the service refuses: write it down as failed and go on, or fail the whole order. */
  readonly refused: 'record' | 'throw';
  /** How often a lost answer is bought again; default three times. 0 for what starts something. */
  readonly maxRebuys?: number | undefined;
  /** What the job may cost, beside the team's own caps. */
  readonly cap?: SpendCap | undefined;
  /** What this purchase alone may cost, in micro-dollars. */
  readonly mostMicros?: number | undefined;
}

export interface Control {
  /** Aborted: start nothing more, let what is in flight land. */
  readonly stop: AbortSignal;
  /** Aborted: cut what is in flight. */
  readonly cut: AbortSignal;
  /** Waits longer than this are handed back to the caller as `waitMs`. */
  readonly yieldAfterMs: number;
  progress?(progress: Progress): void;
}

export interface Progress {
  readonly landed: number;
  /** Units bought now that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** Units that run at the service and are followed. */
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
  /** Runs that were followed when the purchase was stopped: they go on at the service. */
  readonly leftRunning: number;
  /** Where not complete: nothing can go on before this many milliseconds. */
  readonly waitMs: number;
  readonly waitingFor: string | null;
}
