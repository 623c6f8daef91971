import type { Freshness, UnitOutcome } from '../core/journal.js';
import type { Draw } from '../core/limiter.js';
import type { SpendCap } from '../core/spend.js';

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

/** What to buy, and how one request for some of it is made. */
export interface Order {
  readonly book: string;
  /** Token of this attempt: claims and intents are in its name. */
  readonly owner: string;
  readonly operation: string;
  readonly draw: Draw;
  readonly units: readonly Unit[];
  readonly unitsPerRequest: number;
  /** The most that a request for these may cost; less for fewer units. */
  estimateMicros(units: readonly Unit[]): number;
  /** One attempt. Throws `ApiError`. */
  send(units: readonly Unit[], signal: AbortSignal): Promise<Bought>;
  /** After this many milliseconds without an answer the intent is overdue. */
  readonly timeoutMs: number;
  readonly freshness?: Freshness | undefined;
  readonly resumedAt: number;
  /** A unit that the service refuses: write it down as failed and go on, or fail the whole order. */
  readonly refused: 'settle' | 'throw';
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
  /** Where not complete: nothing can go on before this many milliseconds. */
  readonly waitMs: number;
  readonly waitingFor: string | null;
}
