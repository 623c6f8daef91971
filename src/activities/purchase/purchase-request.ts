import type { AnswerOptions } from '../../api/wire/transport-options.js';
import type { Grant, RateCost } from '../../core/limiter/limiter.js';
import type { SlotsInUse } from '../../core/limiter/slots.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { SpendCap } from '../../core/purchase/spend.js';
import type { Freshness, ServiceWarning, StopAtFailed } from '../../core/row-job-schemas.js';
import type { SliceResult } from '../../core/rows/job.js';
import type { KnownAnswer } from '../../core/rows/row-warehouse.js';
import type { FoundNothing } from '../../core/rows/stop-at-failed.js';

/** One unit of work: a URL or a rendered request. */
export interface Unit {
  readonly key: string;
  readonly unit: string;
}

/** How a request is sent. `space`: the answer may be read into it, and is not used after it has landed. */
export type SendAs = Required<Pick<AnswerOptions, 'signal' | 'space'>>;

/** The answer to one request, before its cost is split over the units. */
export interface Bought {
  readonly requestId: string | null;
  /** Null if the answer has no cost; then the estimate counts. */
  readonly costMicros: number | null;
  /** Whether the request waited in the service's own queue; null or absent if the answer does not say. */
  readonly queued?: boolean | null;
  /** Why the answer has nothing of what it was bought for; null or absent: it has, or it says why not. */
  readonly nothing?: string | null;
  readonly warnings?: readonly ServiceWarning[] | undefined;
  readonly units: readonly Omit<UnitOutcome, 'costMicros'>[];
}

/** The recorded facts of a start that was answered. */
export interface RunFacts {
  readonly run: string;
  /** The id of the request that started the run; null if unknown. */
  readonly requestId: string | null;
}

export interface Start {
  /** Identifies this purchase. If the start gets no answer, the run is found by this tag. */
  readonly tag: string;
  /** The bound of the run's cost, in micro-dollars; null without a bound. */
  readonly limitMicros: number | null;
}

/** A start without an answer, whose run is searched for. */
export interface StartToFind {
  readonly tag: string;
  /** The earliest time of the run's start, in Unix ms. */
  readonly since: number;
  /** The service's error message, which may name a run; null if there was none. */
  readonly message: string | null;
}

/** The functions of the port `Slots` that purchases of runs use. */
export interface RunSlots {
  /** The time when a read of the list of runs began, in Unix ms. Set only while starts wait for that read. */
  readonly listedSince?: number | null;
  /** The slots in use when a start last waited for a slot; null if unknown. */
  readonly inUse?: SlotsInUse | null;
  take(owner: string, signal: AbortSignal): Promise<void>;
  name(owner: string, runId: string): Promise<void>;
  free(owner: string): Promise<void>;
  /** Reports that the service refused a start because the service has no free slot. */
  refused(): Promise<void>;
}

/** How a long-running unit is bought. Each request is for one unit. */
export interface LongRunning {
  /** Starts the run of a unit in one attempt. Throws `ApiError`. */
  start(unit: Unit, start: Start, signal: AbortSignal): Promise<RunFacts & Pick<Bought, 'queued' | 'warnings'>>;
  /**
   * Waits for the end of a run; returns null if the service no longer returns the run. Rejects with the signal's reason when aborted; the
   * run stays in progress.
   */
  follow(unit: Unit, facts: RunFacts, startedAt: number, signal: AbortSignal): Promise<Bought | null>;
  /**
   * Searches for the run of a start without an answer. `none`: certainly no run was started; null: no run was found, but one may have been
   * started.
   */
  find(unit: Unit, start: StartToFind, signal: AbortSignal): Promise<RunFacts | 'none' | null>;
  /** Returns the bound of the run's cost for the remaining budget, in micro-dollars; null if the cost cannot be bounded. */
  bound(unit: Unit, remainingMicros: number): number | null;
  /** True: runs in progress are followed and no run is started. */
  readonly startsNothing: boolean;
  /** The age in ms after which a run is left running and its unit ends as `RUN_OVERDUE`. Absent: a run is followed to its end. */
  readonly maxRunMs?: number | undefined;
  readonly slots: RunSlots;
}

/** When the answers of a job stop it. */
export interface FailureStop {
  readonly job: string;
  /** Start or last resume of the job, in Unix ms: answers since then count. */
  readonly since: number;
  /** The number of answers that a request counts as, where answers with nothing usable are counted. */
  readonly weight: number;
  /** The number that each unit of a request counts as, if the request has less than its weight; default 1. */
  readonly unitWeight?: number;
  /** Whether another process has had a usable answer since then, so that this one does not begin with few requests. */
  readonly isProven?: boolean | undefined;
  /** Called at the first usable answer in this process. */
  readonly onProven?: (() => void) | undefined;
  /** Codes of warnings that do not stop the job. */
  readonly acceptWarnings?: readonly string[] | undefined;
  /** The limit of failed answers, in answers. Absent: failed answers do not stop the job. */
  readonly limit?: FailedLimit | undefined;
}

export interface FailedLimit extends Required<StopAtFailed> {
  /** Answers since then that were counted by the workflow; those of other processes are among them. */
  readonly answered: number;
  /** Whether an answer that is a success has no content. */
  isEmpty(answer: Pick<UnitOutcome, 'result'>): boolean;
}

/** The units to buy, and the functions that make a request for some of them. */
export interface PurchaseRequest {
  readonly segment: string;
  /** The token of this attempt. The attempt claims units and writes intents with this token. */
  readonly owner: string;
  readonly operation: string;
  readonly rateCost: RateCost;
  readonly units: readonly Unit[];
  readonly unitsPerRequest: number;
  /** Returns the most that a request for these units may cost. A request for fewer units never costs more. */
  estimateMicros(units: readonly Unit[]): number;
  /**
   * Returns the price of a request for these units by the price table. This price may be lower than the estimate. Absent: the estimate is
   * used.
   */
  listMicros?(units: readonly Unit[]): number;
  /** Returns the tier of the request. The operation and the tier decide the price. Default: the empty text. */
  tier?(units: readonly Unit[]): string;
  /** Makes one attempt at a request for these units. Throws `ApiError`. */
  send(units: readonly Unit[], how: SendAs): Promise<Bought>;
  /** Used instead of `send` for runs at the service. */
  readonly longRunning?: LongRunning | undefined;
  /** Milliseconds without an answer after which an intent is overdue. */
  readonly timeoutMs: number;
  readonly freshness?: Freshness | undefined;
  /**
   * Returns answers to these units from a place other than the journal, such as a warehouse. Such answers are recorded in the journal, and
   * their units are not bought again.
   */
  readonly known?: ((keys: readonly string[]) => Promise<readonly KnownAnswer[]>) | undefined;
  readonly resumedAt: number;
  /**
   * What follows if the service refuses a unit. `record`: the unit is recorded as failed, and the purchase continues. `throw`: the purchase
   * fails.
   */
  readonly refused: 'record' | 'throw';
  /** Returns whether the service has accepted a request of this kind before this purchase. Default: no. */
  readonly accepted?: (() => Promise<boolean>) | undefined;
  /** Whether refused units are recorded as failed even if the service refuses all of them. */
  readonly recordsAll?: boolean | undefined;
  /** How often a unit with an unknown outcome is bought again; 0 for starts of runs. Default: 3. */
  readonly maxRebuys?: number | undefined;
  /** Time of a single call in Unix ms: unknown outcomes since then belong to the call. Absent for jobs. */
  readonly calledAt?: number | undefined;
  /** The call that pays, which its answers name; absent for jobs. */
  readonly paidBy?: string | undefined;
  /** The cap of the job. It applies together with the team's caps. */
  readonly cap?: SpendCap | undefined;
  /**
   * Start of the run of the job, in Unix ms. The estimates of runs at the service that were started before count under the caps of earlier
   * runs of the job. Absent: none was.
   */
  readonly startedAt?: number | undefined;
  /** The cap of this purchase, in micro-dollars. */
  readonly mostMicros?: number | undefined;
  /** The worker's cap for one run of a job, if `cap` or `mostMicros` comes from it; the error of a refusal then names the worker's cap. */
  readonly workerCapMicros?: number | undefined;
  /**
   * Waits for the turn of a request, for a purchase that sends each request once: a failure that a retry may help ends the purchase, and
   * the caller's retries follow. Absent: the purchase itself repeats requests.
   */
  readonly sendsOnce?: ((stop: AbortSignal) => Promise<Grant>) | undefined;
  /** Absent: answers do not stop the purchase. */
  readonly failureStop?: FailureStop | undefined;
  /** Number of rows of the purchase's job, for the error of a purchase that is refused as a whole. */
  readonly rows?: number | undefined;
}

/** The part of a purchase request that does not depend on the operation. */
export type AnyPurchase = Omit<
  PurchaseRequest,
  | ('operation' | 'unitsPerRequest' | 'send' | 'longRunning' | 'timeoutMs' | 'refused' | 'maxRebuys')
  | ('rateCost' | 'estimateMicros' | 'listMicros' | 'tier')
>;

export interface Control {
  /** When aborted: nothing more is sent, and requests in flight land. */
  readonly stop: AbortSignal;
  /** When aborted: the purchase was stopped because its time is up, not because it was cancelled. */
  readonly timeUp?: AbortSignal;
  /** When aborted: requests in flight are ended. */
  readonly cut: AbortSignal;
  /** Length in ms above which a wait ends the purchase. The receipt then has the wait as `waitMs`. */
  readonly yieldAfterMs: number;
  progress?(progress: Progress): void;
}

export interface Progress {
  readonly landed: number;
  /** Number of units that this purchase bought and that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** The part of `costMicros` that counted under the caps of earlier runs of the job. */
  readonly earlierMicros: number;
  /** Number of units whose runs are followed. */
  readonly running: number;
  readonly waitingFor: string | null;
}

/** How a purchase ended: the counts of a slice that is bought with it. */
export interface Receipt extends Omit<SliceResult, 'rows' | 'nothing'> {
  /** Number of runs that were followed when the purchase was stopped. These runs stay in progress at the service. */
  readonly leftRunning: number;
  readonly nothing?: FoundNothing;
  /** For an incomplete purchase: the milliseconds to wait before a retry. */
  readonly waitMs: number;
  readonly waitingFor: string | null;
}

export type Purchase = (purchaseRequest: PurchaseRequest, control: Control) => Promise<Receipt>;
