import { randomUUID } from 'node:crypto';
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { fieldOf } from '../../api/checks/field-of.js';
import type { SentWith } from '../../core/base-schemas.js';
import { ruleOf, transientTags } from '../../core/purchase/failure-tags.js';
import { BodiesGone, type UnitRecord } from '../../core/purchase/journal.js';
import { toDollars, toMicros } from '../../core/text/money.js';
import { callHeartbeatMs, cancellation, heartbeatFrom } from '../base/cancellation.js';
import type { CallDeps } from '../base/deps.js';
import { ownTurn, thisActivity } from '../base/free-call.js';
import { stayIfPaused } from '../base/held.js';
import { toFailure, waiting } from '../call/failure.js';
import { CALL_YIELDS_AFTER_MS } from '../call/places.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';

/** The result of an operation's activity. Amounts in dollars. */
export type OperationResult<T> = (
  | { readonly data: T }
  | {
      /** Keys of the answer in the journal; `SearchflowPlugin.readLanded` reads the answer. */
      readonly landed: readonly string[];
      readonly bytes: number;
      /** First characters of the result as JSON. */
      readonly preview: string;
    }
) & {
  readonly requests: readonly RequestShare[];
  readonly costDollars: number;
  /** Number of requests of this call without an answer, which may have been charged. Absent: none. */
  readonly unknownOutcomes?: number | undefined;
  /** Fields of other types than expected, which are null in `data`, and entries of a list that are left out. Absent: none. */
  readonly misread?: string | undefined;
};

/**
 * One request whose answer is part of a result. `bought`: this call paid for the request; otherwise the answer had landed before, or is
 * free.
 */
export interface RequestShare {
  readonly requestId: string | null;
  readonly costDollars: number;
  readonly bought: boolean;
  /** Set if the service reported no cost, so that the price of the table counts. */
  readonly estimated?: true | undefined;
}

/** The requests of a call, and how many of them got no answer and may have been charged. */
export interface Paid {
  readonly requests: readonly RequestShare[];
  readonly unknownOutcomes: number;
}

/** Options of one call that are not part of the request. */
export interface CallOptions extends SentWith {
  /**
   * Age in ms: an answer that landed longer ago than this is bought again. Default: a landed answer never expires. 0: a new answer is
   * always bought, but only once within one activity, however often the activity is retried.
   */
  readonly refreshAfterMs?: number;
  /** The cap of the call, in dollars: a request with a higher estimate is not sent, and the activity fails with `BudgetExceeded`. */
  readonly maxCostDollars?: number;
  /** The largest result that is returned as a value, in bytes. Default: 1 MiB. A higher value needs Temporal's external storage. */
  readonly maxInlineBytes?: number;
  /** How often a request is repeated whose answer got lost, which may have been charged. Default: 3. 0: never. */
  readonly maxRebuys?: number;
}

/**
 * Returns the purchase fields for an activity of one operation. All purchases of a day share a segment; each attempt is an owner of its
 * own.
 */
export function lonePurchase(
  options: CallOptions = {},
): Pick<PurchaseRequest, 'segment' | 'owner' | 'calledAt' | 'resumedAt' | 'freshness' | 'mostMicros'> {
  const scheduledAt = Context.current().info.scheduledTimestampMs;
  return {
    segment: `calls/${new Date(scheduledAt).toISOString().slice(0, 10)}`,
    owner: randomUUID(),
    calledAt: scheduledAt,
    resumedAt: Date.now(),
    mostMicros: mostOf(options),
    freshness: {
      retryTags: transientTags,
      retryBefore: scheduledAt,
      freshAfter: options.refreshAfterMs === undefined ? undefined : scheduledAt - options.refreshAfterMs,
    },
  };
}

/** A run that may already have been started is started again only if a person requests this. */
export const startTags = transientTags.filter((tag) => ruleOf(tag).answer !== 'lost');

/**
 * The fields of {@link lonePurchase} for a start. A start with an unknown outcome may have created a run, so a new call does not repeat the
 * start. Only `refreshAfterMs` starts another run.
 */
export function oneStart(options: CallOptions): ReturnType<typeof lonePurchase> {
  const lone = lonePurchase(options);
  return { ...lone, freshness: { ...lone.freshness, retryTags: startTags } };
}

/** Returns the cap in micro-dollars. Null is refused: JSON turns NaN into null, which must not mean "no cap". */
function mostOf({ maxCostDollars }: CallOptions): number | undefined {
  if (maxCostDollars === undefined) return undefined;
  const micros = toMicros(maxCostDollars);
  if (micros !== null) return micros;
  const message = `maxCostDollars must be a non-negative number (got ${String(maxCostDollars)}); nothing was sent`;
  throw ApplicationFailure.nonRetryable(message, 'InvalidRequest');
}

/**
 * Buys the units of one operation and returns their records in the order of the units. One attempt of the activity sends each request once;
 * Temporal's retry policy decides about another attempt. `repeats`: the purchase itself repeats requests, as for many requests in one activity.
 */
export async function buyNow(
  deps: CallDeps,
  purchaseRequest: PurchaseRequest,
  repeats = false,
): Promise<{ records: readonly UnitRecord[] } & Paid> {
  const sendsOnce = (stop: AbortSignal) => ownTurn(deps.places, purchaseRequest.rateCost, stop);
  const longestMs = Number.POSITIVE_INFINITY;
  const slice = { yieldAfterMs: CALL_YIELDS_AFTER_MS, heartbeatMs: callHeartbeatMs(), longestMs };
  const once = repeats ? {} : { sendsOnce };
  const paidBy = payerOf(deps);
  const request = { ...purchaseRequest, paidBy, ...once };
  const { records, waitingFor, unknownOutcomes } = await buyRecords(deps, request, repeats ? {} : slice);
  if (records === null) throw waiting(0, waitingFor);
  return { records, requests: shares(records, paidBy), unknownOutcomes: deps.alone?.lost ?? unknownOutcomes };
}

/** Names this call in the answers that it pays; the name is the same in all its attempts. */
export const payerOf = ({ sha256 }: Pick<CallDeps, 'sha256'>): string =>
  sha256(JSON.stringify([Context.current().info.namespace, ...thisActivity()])).slice(0, 16);

interface PurchaseSlice {
  readonly timeUpMs?: number | undefined;
  /** Waits above this length, in ms, are left to Temporal. */
  readonly yieldAfterMs?: number;
  /** Time in ms between heartbeats, and before the first one. Default: at once, and every second. */
  readonly heartbeatMs?: number;
  /** The longest wait for the service in ms; a longer one is final. */
  readonly longestMs?: number;
  /** Returns the details of a heartbeat. Default: the reason of a wait. */
  details?(waitingFor: string | null): unknown;
  /** Called with each report of progress. `timeIsUp` ends the time of the activity. */
  progressed?(timeIsUp: () => void): void;
}

/**
 * Makes the purchase of an activity. Returns the records of its units, in the order of the units. `records` is null if the time of the
 * activity was up before all units had landed.
 */
export async function buyRecords(
  deps: CallDeps,
  purchaseRequest: PurchaseRequest,
  slice: PurchaseSlice = {},
): Promise<{
  readonly records: readonly UnitRecord[] | null;
  readonly waitingFor: string | null;
  readonly unknownOutcomes: number;
}> {
  const { timeUpMs, yieldAfterMs, heartbeatMs, longestMs, progressed } = slice;
  const { details = (waitingFor: string | null): unknown => ({ ...deps.alone?.details(), waitingFor }) } = slice;
  const { cancellationSignal, info } = Context.current();
  let waitingFor: string | null = null;
  const control = cancellation({
    timeUpMs,
    yieldAfterMs,
    progress: (progress) => {
      waitingFor = progress.waitingFor;
      progressed?.(control.timeIsUp);
    },
  });
  const heart = heartbeatFrom(() => details(waitingFor), heartbeatMs);
  try {
    const receipt = await deps.purchase(purchaseRequest, control);
    const { unknownOutcomes } = receipt;
    if (!receipt.complete) {
      const rest = purchaseRequest.longRunning ? '; runs in progress are ended next' : ' before all units landed';
      if (cancellationSignal.aborted) throw new CancelledFailure(`cancelled${rest}`);
      if (receipt.waitMs > 0) throw waiting(receipt.waitMs, receipt.waitingFor);
      await stayIfPaused(true);
      return { records: null, waitingFor, unknownOutcomes };
    }
    // Without a record, the answer would be lost.
    if (!deps.alone) await stayIfPaused(false);
    const keys = purchaseRequest.units.map((unit) => unit.key);
    const byKey = await deps.journal.read(keys);
    const gone = keys.filter((key) => !byKey.has(key));
    if (gone.length > 0) throw new BodiesGone(gone, 'call it with { refreshAfterMs: 0 } (--rebuy)');
    return { records: keys.map((key) => byKey.get(key) as UnitRecord), waitingFor, unknownOutcomes };
  } catch (error) {
    throw toFailure(error, info.attempt, false, longestMs);
  } finally {
    heart.stop();
    control.done();
  }
}

/** The requests of the records, and whether the call `paidBy` paid them. */
export function shares(records: Iterable<UnitRecord>, paidBy: string): RequestShare[] {
  const byRequest = new Map<string | null, { micros: number; by: UnitRecord['by'] }>();
  for (const { request_id: requestId, cost_micros: micros, by } of records)
    byRequest.set(requestId, { micros: (byRequest.get(requestId)?.micros ?? 0) + micros, by });
  return [...byRequest].map(([requestId, { micros, by }]) => {
    const bought = by?.call === paidBy;
    return { requestId, costDollars: toDollars(micros), bought, estimated: bought ? by.estimated : undefined };
  });
}

/** What is known of a call that may have ended without an answer. */
export interface CallFacts {
  /** Whether the call is free, so that it is never repeated for an answer. */
  readonly isFree?: boolean;
  /** Whether the worker has no record. */
  readonly isAlone?: boolean;
  /** The error of an unreadable answer to this call. */
  readonly shape?: Error | null;
}

/** Throws if a unit ended without an answer: the unit was refused, its outcome is unknown, or its answer is unreadable. */
export function failUnlessSuccess(
  record: UnitRecord | undefined,
  { isFree, isAlone, shape }: CallFacts = {},
): UnitRecord {
  if (record?.status === 'success') return record;
  const { operation, result, request_id: requestId = null, error_tag: tag = 'UNKNOWN_OUTCOME' } = record ?? {};
  const again = isFree
    ? '; it is not repeated automatically'
    : isAlone
      ? '. Another call buys it again'
      : ', or call it with { refreshAfterMs: 0 } (--rebuy) to buy it again';
  const kept = isAlone ? '' : '; the journal keeps it: read it there';
  const reported = fieldOf(result, 'error');
  const reason = typeof reported === 'string' ? reported : `ended with ${tag}`;
  const misread = `${operation}: the answer does not match the schema of the operation (request id ${requestId})`;
  const failures = {
    lost: ['UnknownOutcome', `${operation}: ${reason}; check its effect at the service${again}`],
    unread: ['ResponseShape', `${shape?.message ?? misread}${kept}${again}`],
    read: ['InvalidRequest', reason],
  } as const;
  const [type, message] = failures[ruleOf(tag).answer ?? 'read'];
  throw ApplicationFailure.nonRetryable(message, type, { tag, key: record?.key ?? null, requestId });
}

/** Returns the failure of work that a worker without a record cannot do. */
export function needsRecord(what: string): ApplicationFailure {
  const message = `${what} needs a record: pass stateDir or store to SearchflowPlugin. Nothing was sent`;
  return ApplicationFailure.nonRetryable(message, 'NeedsRecord');
}

/**
 * The largest result in bytes that is returned as a value; a larger result is returned as a reference. Without external storage, Temporal
 * refuses payloads of 2 MB, and the refusal would come after the payment.
 */
export const MAX_INLINE_BYTES = 1024 * 1024;

/**
 * Makes a result for Temporal: the value itself if it is small, otherwise a reference to the journal. Throws `ResultTooLarge` on a worker
 * without a record.
 */
export function packed<T>(
  { alone }: Pick<CallDeps, 'alone'>,
  data: T,
  keys: readonly string[],
  { requests, unknownOutcomes }: Paid,
  { maxInlineBytes = MAX_INLINE_BYTES }: CallOptions,
): OperationResult<T> {
  const paid = requests.filter(({ bought }) => bought);
  const costDollars = Math.round(paid.reduce((sum, share) => sum + share.costDollars, 0) * 1e6) / 1e6;
  const shown = { requests, costDollars, unknownOutcomes: unknownOutcomes || undefined };
  const json = JSON.stringify(data);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxInlineBytes) return { data, ...shown };
  if (!alone) return { landed: keys, bytes, preview: json.slice(0, 500), ...shown };
  const facts = { requestId: requests[0]?.requestId ?? null, costDollars, bytes };
  throw resultTooLarge(`The result has ${bytes} bytes`, 'The request was paid', maxInlineBytes, facts);
}

/** Returns the failure of a result that does not fit. `facts`: request id, cost and size, for programs. */
export function resultTooLarge(what: string, paid: string, most: number, facts: object): ApplicationFailure {
  const message =
    `${what}, and at most ${most} fit. Ask for less (text.maxCharacters, numResults), ` +
    `or use Temporal's external storage with a higher maxInlineBytes. ${paid}`;
  return ApplicationFailure.nonRetryable(message, 'ResultTooLarge', facts);
}

/**
 * Throws `ResultTooLarge` on a worker without a record if the request asks for more text than fits, so that no answer is paid and lost. A
 * request without `maxCharacters` has no bound of its own, and passes.
 */
export function refuseTooLarge(
  { alone }: Pick<CallDeps, 'alone'>,
  input: object,
  { maxInlineBytes = MAX_INLINE_BYTES }: CallOptions,
): void {
  const characters = alone ? mostCharacters(input) : 0;
  if (characters <= maxInlineBytes) return;
  const facts = { requestId: null, costDollars: 0, bytes: characters };
  const what = `The request asks for up to ${characters} characters of text`;
  throw resultTooLarge(what, 'Nothing was sent', maxInlineBytes, facts);
}

/** Number of results of a search without `numResults` (API reference: /search). */
const USUAL_RESULTS = 10;

/** The characters of page texts that a request asks for at most, by its own bounds; 0 without a bound. */
function mostCharacters(input: object): number {
  const { urls, ids, numResults, contents = input } = input as Readonly<Record<string, unknown>>;
  const { text, highlights, context, subpages } = (contents ?? {}) as Readonly<Record<string, unknown>>;
  const list = [urls, ids].find(Array.isArray);
  const pages = list ? list.length : typeof numResults === 'number' ? numResults : USUAL_RESULTS;
  const perPage = charactersOf(text) + charactersOf(highlights);
  return pages * (1 + (typeof subpages === 'number' ? subpages : 0)) * perPage + charactersOf(context);
}

/** The bound of a part of an answer, `{ maxCharacters }`; 0 without one. */
function charactersOf(part: unknown): number {
  const most = fieldOf(part, 'maxCharacters');
  return typeof most === 'number' ? most : 0;
}
