import type { Json, RawJson } from '../text/json.js';
import type { Price, SpendCap } from './spend.js';

/** How one unit of work ended: what the warehouse shows in `status`. */
export type UnitStatus = 'success' | 'error';

/**
 * Tag of a unit that ran at the service when its job was cancelled, and was ended for that: what it cost counts, but whoever asks
 * for the unit again buys it.
 */
export const ENDED_WITH_JOB = 'JOB_CANCELLED';

/** One unit's share of an answer. */
export interface UnitOutcome {
  readonly key: string;
  /** The unit itself: a URL, a rendered query. */
  readonly unit: string;
  readonly status: UnitStatus;
  /** Machine-readable reason of an error, such as `CRAWL_NOT_FOUND` (interface section 2.3). */
  readonly errorTag: string | null;
  readonly httpStatus: number | null;
  /** Where the content came from (`cached`, `crawled`), if said. */
  readonly source: string | null;
  readonly costMicros: number;
  /** The unit's result exactly as it came, unknown fields and all; `null` for none. */
  readonly result: Json | RawJson;
  /** What else the answer said of the unit, where that is more than the fields above: its status with fields nobody knows. */
  readonly told?: Json;
  /** Fields of the answer that don't fit their types, in words; absent where all do. */
  readonly misread?: string;
}

/**
 * A line of a unit file (JSON lines), which sinks load as it is.
 * `fetched_at` is ISO 8601 in UTC, `cost_micros` whole millionths of a dollar.
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
  readonly misread?: string;
  readonly result: Json;
  readonly told?: Json;
}

/** Which landed answers still count. */
export interface Freshness {
  /** Unix ms; an answer fetched before is bought again. */
  readonly freshAfter?: number;
  /** Failed units with one of these tags, landed before `retryBefore` (Unix ms), are bought again. */
  readonly retryTags?: readonly string[];
  readonly retryBefore?: number;
  /** Unix ms; answers whose body is gone from journal and warehouse are bought again if they landed before. */
  readonly rebuyBefore?: number;
}

/** A landed unit, without its body. */
export interface Landed {
  readonly key: string;
  readonly fetchedAt: number;
  readonly status: UnitStatus;
  readonly errorTag: string | null;
}

/** A purchase whose start was answered: what it bought runs on at the service, and its answer comes later. */
export interface Started {
  readonly intentId: string;
  /** What was noted of it, such as the id of the run. */
  readonly facts: Json;
  /** Unix ms of the intent. */
  readonly at: number;
}

/** A purchase whose answer got lost. What it may have started can be looked for. */
export interface Lost {
  readonly intentId: string;
  /** Unix ms of the intent, and by when its answer should have come. */
  readonly at: number;
  readonly deadline: number;
}

/** A unit that is the caller's to buy. */
export interface Claimed {
  readonly key: string;
  /** Unknown outcomes that it had already. */
  readonly unknowns: number;
  /** The latest of these. */
  readonly lost?: Lost;
  /** It is bought, and runs at the service: the intent is the caller's now, to be followed and landed. */
  readonly started?: Started;
}

/** Who may buy what. Each key asked for is in exactly one of the three. */
export interface Claim {
  readonly landed: readonly Landed[];
  readonly mine: readonly Claimed[];
  /** Being bought by a living owner; wait with `waitForAny`. */
  readonly theirs: readonly string[];
}

export interface Intent extends Price {
  readonly owner: string;
  /** The append-only file the purchase is written to: one a slice. */
  readonly segment: string;
  readonly operation: string;
  /** What decides its price beside the operation, such as the effort of an agent run; default the empty text. */
  readonly tier?: string | undefined;
  readonly keys: readonly string[];
  /** Unix ms by which an answer must have come. */
  readonly deadline: number;
  /**
   * Refuses the intent with `OverBudget` where it would pass this, as it does where it would pass the team's own caps. Under either
   * it takes `reservedMicros`, by what the job's answers of the same operation and tier have cost today (UTC).
   */
  readonly cap?: SpendCap;
}

export interface LandedAnswer {
  readonly requestId: string | null;
  readonly fetchedAt: number;
  readonly units: readonly UnitOutcome[];
}

/** A purchase whose answer never came: it may have been charged. */
export interface UnknownOutcome {
  /** Name of its journal segment; called as in the stored records. */
  readonly book: string;
  readonly operation: string;
  readonly keys: readonly string[];
  readonly intendedAt: number;
  readonly reason: string;
  readonly estimateMicros: number;
}

/** What a group of segments says. Amounts in micro-dollars. */
export interface JournalTotals {
  readonly requests: number;
  readonly unitsLanded: number;
  readonly costMicros: number;
  /** List price of the same requests. */
  readonly listMicros: number;
  /** Sum of the estimates of intents that are still open. */
  readonly openMicros: number;
  readonly unknown: readonly UnknownOutcome[];
}

/**
 * The record of what was bought: the only truth about it. An answer that landed here is never bought again.
 * Every method that writes returns only after the write is durable.
 */
export interface Journal {
  /** Divides keys into landed, mine and theirs, at once for all callers. Repeated keys are taken once. */
  claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim>;
  /**
   * Writes down what is about to be bought, all of it claimed by its owner; answers with the id of the intent. Rejects with
   * {@link ClaimLost} where the owner holds it no longer, with `OverBudget` where it would pass a cap.
   */
  intend(intent: Intent): Promise<string>;
  /** Writes an answer down, and gives its units back: they are landed. */
  land(intentId: string, answer: LandedAnswer): Promise<void>;
  /**
   * Writes down that the start of an intent was answered, and what runs since then. The intent stays open, its estimate counts,
   * past the death of its owner and its release: whoever claims the unit next takes it over. An unknown outcome that turned out
   * to run is one no longer, and is the owner's, who holds the unit.
   */
  note(intentId: string, owner: string, facts: Json): Promise<void>;
  /** Closes an intent without an answer. `maybe` makes it an unknown outcome; `came` is kept: what came in the place of an answer. */
  miss(intentId: string, reason: string, charged: 'never' | 'maybe', came?: string | null): Promise<void>;
  /**
   * Ends units without a purchase of their own: refused input, given up after unknown outcomes, or (with `answer`, which says when it
   * came) an answer that the warehouse still has.
   */
  recordOutcomes(
    owner: string,
    segment: string,
    operation: string,
    units: readonly UnitOutcome[],
    answer?: Pick<LandedAnswer, 'requestId' | 'fetchedAt'>,
  ): Promise<void>;
  /** Gives back every key that this owner claimed and did not land. Open intents of it become unknown outcomes, unless noted. */
  release(owner: string): Promise<void>;
  /** Resolves when any of these keys has landed or been given back. */
  waitForAny(keys: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Landed ones among these keys (others are left out), claiming nothing. */
  lookup(keys: readonly string[], freshness?: Freshness): Promise<readonly Landed[]>;
  /**
   * Paths of unit files (JSON lines of {@link UnitRecord}, a key may stand in more than one line: the newest counts) that
   * together hold every one of these landed keys and perhaps more. `scratch` is a path the journal may write one to.
   * Rejects naming the keys' number and the way out where bodies were pruned or fail their checksum.
   */
  unitFiles(segment: string, keys: readonly string[], scratch: string): Promise<readonly string[]>;
  /** The records of landed keys, by key. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>>;
  /**
   * Forgets the bodies of every segment whose name starts so and that was last written before then (Unix ms); what was bought
   * stays known. The caller has seen that the warehouse holds their rows. Answers with the number of segments.
   */
  prune(bookPrefix: string, before: number): Promise<number>;
  /** Sums over every segment whose name starts so. */
  totals(bookPrefix: string): Promise<JournalTotals>;
  close(): Promise<void>;
}

/**
 * The owner no longer holds what it was about to buy: its process was taken for dead, or somebody else's answer landed first.
 * Nothing was written down; claim the units anew.
 */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
  constructor() {
    super('these units were taken over while this process was not heard of; nothing was bought, they are claimed anew');
  }
}

/** Bodies that were bought are gone (pruned, damaged). They are not bought again unless a person says so. */
export class BodiesGone extends Error {
  override readonly name = 'BodiesGone';
  constructor(readonly keys: readonly string[]) {
    super(
      `${keys.length} bought answer(s) are no longer in the journal (pruned or damaged) and not in the warehouse; ` +
        'nothing was bought again. Run the same command with --rebuy to buy them once more',
    );
  }
}
