import type { ErrorCode } from '../errors/registry.js';
import type { Freshness } from '../row-job-schemas.js';
import type { Json, RawJson } from '../text/json.js';
import type { CallFacts } from './failure.js';
import type { Price, SpendCap } from './spend.js';
import type { UnknownOutcome } from './spend-schemas.js';

export type { UnknownOutcome } from './spend-schemas.js';

/** The job of a segment: its name up to the first `/`; `calls` for single calls. */
export const jobOf = (segment: string): string => segment.split('/', 1)[0] as string;

/** The outcome of one unit: the `status` in the warehouse. */
export type UnitStatus = 'success' | 'error';

/**
 * Tag of a unit whose run was ended because its job was cancelled. The cost of the run counts, but the next request for the unit buys the
 * unit again.
 */
export const ENDED_WITH_JOB = 'JOB_CANCELLED';

/** Tag of a unit whose run took longer than `--max-run-time` and was left running. The run keeps its slot until it ends. */
export const RUN_OVERDUE = 'RUN_OVERDUE';

/** The call that paid for an answer, and whether the service reported no cost, so that an estimate counts. */
export interface Payer {
  readonly call: string;
  readonly estimated?: true | undefined;
}

/** One unit's share of an answer. */
export interface UnitOutcome {
  readonly key: string;
  /** The unit itself: a URL, a rendered query. */
  readonly unit: string;
  readonly status: UnitStatus;
  /** Machine-readable reason of an error, such as `CRAWL_NOT_FOUND` (API reference: /contents). */
  readonly errorTag: string | null;
  readonly httpStatus: number | null;
  /** Source of the content (`cached`, `crawled`), where the answer has it. */
  readonly source: string | null;
  readonly costMicros: number;
  /** Set for the units of single calls. */
  readonly by?: Payer | undefined;
  /** The unit's result byte for byte, with unknown fields; `null` without a result. */
  readonly result: Json | RawJson;
  /** The whole status of the unit; set where the status has further fields, beyond the fields above. */
  readonly wholeStatus?: Json;
  /** Fields of the answer that do not fit their types, as one line; absent where all fields fit. */
  readonly misread?: string;
}

/** The status of a unit that has its result. */
export const SUCCESS = { status: 'success', errorTag: null, httpStatus: null, source: null } as const;

/** What comes before the result in the line of a unit file. The result is the last field, so a warehouse takes what follows as the result. */
export const RESULT_MARK = ',"result":';

/**
 * A line of a unit file (JSON lines), which warehouses load unchanged. `fetched_at` is ISO 8601 in UTC, `cost_micros` whole millionths of a
 * dollar.
 */
export interface UnitRecord {
  readonly key: string;
  readonly unit: string;
  readonly operation: string;
  readonly request_id: string | null;
  readonly fetched_at: string;
  readonly cost_micros: number;
  readonly status: UnitStatus;
  readonly error_tag: string | null;
  readonly http_status: number | null;
  readonly source: string | null;
  readonly by?: Payer | undefined;
  readonly misread?: string;
  readonly result: Json;
  /** `wholeStatus` of the outcome. */
  readonly told?: Json;
}

/** A landed unit, without its body. */
export interface Landed {
  readonly key: string;
  readonly fetchedAt: number;
  readonly status: UnitStatus;
  readonly errorTag: string | null;
}

/** A purchase whose start was answered: its run is in progress at the service, and its answer comes later. */
export interface Started {
  readonly intentId: string;
  /** The recorded facts, such as the id of the run. */
  readonly facts: Json;
  /** Unix ms of the intent. */
  readonly at: number;
}

/** A purchase whose answer got lost. If the purchase may have started a run, that run can be searched for. */
export interface Lost {
  readonly intentId: string;
  /** The time of the intent, and the deadline of the answer, in Unix ms. */
  readonly at: number;
  readonly deadline: number;
}

/** A unit that the caller may buy. */
export interface Claimed {
  readonly key: string;
  /** Number of the unit's unknown outcomes so far. */
  readonly unknowns: number;
  /** The latest unknown outcome. */
  readonly lost?: Lost;
  /** Set if the run of the unit is in progress: the caller takes over the intent, follows the run and lands the answer of the run. */
  readonly started?: Started;
}

/** The result of a claim. Each requested key is in exactly one of these lists. */
export interface Claim {
  readonly landed: readonly Landed[];
  readonly mine: readonly Claimed[];
  /** Units that another live owner is buying; wait for these units with `waitForAny`. */
  readonly theirs: readonly string[];
}

export interface Intent extends Price {
  readonly owner: string;
  /** Name of the purchase's segment. All purchases of a slice have the same segment. */
  readonly segment: string;
  readonly operation: string;
  /**
   * The part of the request, such as the effort of an agent run, that decides its price together with the operation. Default: the empty
   * text.
   */
  readonly tier?: string | undefined;
  readonly keys: readonly string[];
  /** The deadline of the answer, in Unix ms. */
  readonly deadline: number;
  /**
   * The cap of the job. An intent that would exceed this cap or a cap of the team is refused with `OverBudget`. The intent reserves
   * `reservedMicros` under each cap. The amount depends on the cost of the job's answers of today (UTC) with the same operation and tier.
   */
  readonly cap?: SpendCap;
}

export interface LandedAnswer {
  readonly requestId: string | null;
  readonly fetchedAt: number;
  readonly units: readonly UnitOutcome[];
}

/** What came instead of an answer: the status and the wait of a refusal or failure, and its text. Empty if nothing was sent. */
export type MissFacts = Partial<Pick<CallFacts, 'status' | 'retryAfterMs'>> & { readonly body?: string | null };

/** Totals of a group of segments. Amounts in micro-dollars. */
export interface JournalTotals {
  readonly requests: number;
  readonly unitsLanded: number;
  readonly costMicros: number;
  /** List price of the same requests. */
  readonly listMicros: number;
  /** Sum of the estimates of open intents. `openSinceMicros`: of those that were written since the asked time. */
  readonly openMicros: number;
  readonly openSinceMicros: number;
  readonly unknown: readonly UnknownOutcome[];
}

/**
 * The record of all purchases: the only truth about purchases. An answer that has landed here is never bought again. When a method that
 * writes has returned, its write is durable.
 */
export interface Journal {
  /**
   * Longest time from the write of an intent to its request, in ms. After this time the process may count as dead, and another one may have
   * bought the units. Absent: no other process can.
   */
  readonly sendWithinMs?: number;
  /** Divides keys into landed, mine and theirs, atomically for all callers. Repeated keys count once. */
  claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim>;
  /**
   * Writes an intent for units that the owner has claimed; returns the id of the intent. Rejects with {@link ClaimLost} if the owner has
   * lost the claim, and with `OverBudget` if the intent would exceed a cap.
   */
  intend(intent: Intent): Promise<string>;
  /** Writes an answer and releases its units, which have then landed. */
  land(intentId: string, answer: LandedAnswer): Promise<void>;
  /**
   * Records that the start of an intent was answered, with its run. The intent stays open and its estimate counts, even after the owner
   * has died or has released the unit. The next claim of the unit takes the intent over. An intent that was an unknown outcome is open
   * again and belongs to the owner of the unit.
   */
  note(intentId: string, owner: string, facts: Json): Promise<void>;
  /**
   * Closes an intent without an answer. `maybe`: the intent becomes an unknown outcome. The journal keeps `reply` with its text.
   */
  miss(intentId: string, reason: string, charged: 'never' | 'maybe', reply?: MissFacts): Promise<void>;
  /**
   * Ends units without a purchase. Reasons: the input was refused, a unit had too many unknown outcomes, or the warehouse still has the
   * answer (`answer` has its request id and time).
   */
  recordOutcomes(
    owner: string,
    segment: string,
    operation: string,
    units: readonly UnitOutcome[],
    answer?: Pick<LandedAnswer, 'requestId' | 'fetchedAt'>,
  ): Promise<void>;
  /**
   * Releases all keys that this owner claimed and that have not landed. Open intents of the owner become unknown outcomes; noted intents
   * stay open.
   */
  release(owner: string): Promise<void>;
  /** Resolves when any of these keys has landed or been released. */
  waitForAny(keys: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Whether no unit has landed or was ever bought. */
  isEmpty(): Promise<boolean>;
  /** Returns the units among these keys that have landed; claims nothing. */
  lookup(keys: readonly string[], freshness?: Freshness): Promise<readonly Landed[]>;
  /** Reads the bodies of landed units and marks missing and damaged bodies, so that `rebuyBefore` applies to their units. */
  verify(keys: readonly string[]): Promise<void>;
  /**
   * Returns paths of unit files (JSON lines of {@link UnitRecord}) that together hold all of these landed keys. The files may hold other
   * keys, too. If several lines have the same key, the newest line counts. `scratch` is a path where the journal may write such a file.
   * Rejects with {@link BodiesGone} if bodies were pruned or fail their checksum.
   */
  unitFiles(segment: string, keys: readonly string[], scratch: string): Promise<readonly string[]>;
  /** Returns the records of landed keys, by key. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>>;
  /**
   * Deletes the bodies of all segments with this prefix that were last written before a time (Unix ms); the purchases stay known. The
   * caller has checked that the warehouse has the rows of these segments. Returns the number of segments.
   */
  prune(segmentPrefix: string, before: number): Promise<number>;
  /** Sums over all segments with this prefix. `since`: a time in Unix ms; default 0. */
  totals(segmentPrefix: string, since?: number): Promise<JournalTotals>;
  close(): Promise<void>;
}

/** The part of the journal that a purchase uses, and the answers of one call. */
export type CallJournal = Pick<
  Journal,
  'sendWithinMs' | 'claim' | 'intend' | 'land' | 'note' | 'miss' | 'recordOutcomes' | 'release' | 'waitForAny' | 'read'
>;

/**
 * The owner has lost its claim because its process counted as dead or another answer landed first. Nothing was written. The caller must
 * claim the units again.
 */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
  constructor() {
    super(
      'these units were claimed by another process while this one did not respond; nothing was bought, the claim is retried',
    );
  }
}

/** Bodies of bought answers are gone (pruned, damaged). Such answers are bought again only on request. */
export class BodiesGone extends Error {
  override readonly name = 'BodiesGone';
  readonly errorCode = 'answers-gone' satisfies ErrorCode;
  constructor(
    readonly keys: readonly string[],
    again = 'run the same command with --rebuy',
  ) {
    super(
      `${keys.length} bought answer(s) are no longer in the journal (pruned or damaged) and not in the warehouse; ` +
        `nothing was bought again. To buy them again, ${again}`,
    );
  }
}
