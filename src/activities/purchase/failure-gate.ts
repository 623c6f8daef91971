import { type ApiError, isUnusable } from '../../api/wire/errors.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { ServiceWarning } from '../../core/row-job-schemas.js';
import {
  type AnswerCounts,
  addCounts,
  EMPTY_ANSWER,
  type FoundNothing,
  failsTooOften,
  NOTHING_AT_FIRST,
  NOTHING_IN_ROW,
  noAnswers,
  PAGES_COUNT_AS,
} from '../../core/rows/stop-at-failed.js';
import { addWarnings, notAccepted } from '../../core/rows/warnings.js';
import type { FailedLimit, FailureStop, PurchaseRequest, Receipt, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

const FIRST_ANSWERS = 'the first answers: they show whether the job is right';
/** The number of jobs without a purchase in progress whose counts are kept. */
const IDLE_KEPT = 100;
/** From this room on, the gate bounds nothing: a process has fewer requests in flight. */
const MOST_ROOM = 4096;

/** Weight of a broken transfer while the circuit breaker sends one request at a time, with growing waits between them. */
const CUT_COUNTS_AS = 3;

/** An answer with nothing usable. */
interface Unusable {
  readonly why: string;
  /** Whether its text can be read later. */
  readonly isKept: boolean;
  /** Whether its transfer broke off. */
  readonly isCut?: boolean;
}

/**
 * The answers that all purchases of a job share in a process. The gate begins with few requests in flight. Each usable answer doubles their
 * number. An answer with nothing usable halves it, so that no further request is sent until an answer is usable or few are in flight.
 */
class FailureGate {
  readonly since: number;
  users = 0;
  /** Aborted when the answers stop the job: nothing more is sent. */
  readonly stopped = new AbortController();
  counts: AnswerCounts = noAnswers;
  /** Set when the answers with nothing usable stop the job. */
  nothing: FoundNothing | null = null;
  /** Warnings in the first answers that stop the job. */
  stoppedBy: readonly ServiceWarning[] = [];
  readonly #limit: FailedLimit | null;
  readonly #accepted: readonly string[] | undefined;
  /** Whether the first answers of the job come in this process. */
  readonly #isFirst: boolean;
  readonly #weight: number;
  #onProven: FailureStop['onProven'];
  /** Number of units, and of requests for them, that are being bought. */
  #open = 0;
  #openRequests = 0;
  /** Whether the first answers have come, in this process or another one, and not too many failed. */
  #isProven: boolean;
  /** Weight of the requests that may be in flight, those with nothing usable since the last usable answer included. */
  #room: number;
  /** Weights and numbers of requests that were answered with nothing usable: in a row, and among all so far. */
  #inRow = { weight: 0, requests: 0 };
  #ofAll = { weight: 0, requests: 0 };
  #judged = { weight: 0, requests: 0 };
  /** The requests that were sent and are not answered yet, by the key of their first unit, with the times at which they took their room. */
  readonly #taken = new Map<string, number>();
  /** When a transfer last broke off. */
  #cutAt = Number.NEGATIVE_INFINITY;
  #isUsable: boolean;
  readonly #waiting = new WaitQueue<number>();

  constructor({ since, limit, weight, isProven = false, onProven, acceptWarnings }: FailureStop) {
    this.since = since;
    this.#limit = limit ?? null;
    this.#weight = weight;
    this.#accepted = acceptWarnings;
    this.#isFirst = !isProven;
    this.#isUsable = isProven;
    this.#onProven = onProven;
    this.#isProven = limit === undefined || limit.answered >= limit.after;
    this.#room = isProven ? MOST_ROOM : NOTHING_IN_ROW;
  }

  /** Whether further requests wait for the answers to those that are being bought. */
  get isFull(): boolean {
    if (this.#open === 0) return false;
    if (this.#isBeyondRoom(this.#openRequests)) return true;
    return !this.#isProven && this.counts.answered + this.#open >= (this.#limit?.after ?? 0);
  }

  /** Waits until the units of a request may be bought, and counts them as being bought. */
  wait(units: number, signal: AbortSignal): Promise<void> {
    return this.#waiting.wait(units, { signal });
  }

  open(units: number): void {
    this.#open += units;
    this.#openRequests++;
  }

  leave(units: readonly Unit[]): void {
    this.#taken.delete(keyOf(units));
    this.#open -= units.length;
    this.#openRequests--;
    this.#wake();
  }

  /** Takes room for a request that is about to be sent. False: answers with nothing usable came since the request has entered. */
  take(units: readonly Unit[]): boolean {
    const key = keyOf(units);
    const { size } = this.#taken;
    if (size > 0 && !this.#taken.has(key) && this.#isBeyondRoom(size)) return false;
    this.#taken.set(key, performance.now());
    return true;
  }

  /** Whether one more request than these would need more than the room. */
  #isBeyondRoom(requests: number): boolean {
    return this.#room < MOST_ROOM && this.#inRow.weight + (requests + 1) * this.#weight > this.#room;
  }

  count(counts: AnswerCounts): void {
    if (this.#limit === null) return;
    this.counts = addCounts(this.counts, counts);
    const { answered, failed } = this.counts;
    const { percent, after } = this.#limit;
    if (failsTooOften(this.counts, this.#limit)) {
      this.stopped.abort(new Error('too many answers failed'));
      return;
    }
    // If even failures of all other first answers were too few, no request needs to wait for them.
    const most = failed + Math.max(0, after - answered);
    this.#isProven ||= answered >= after || 100 * most < percent * after;
    this.#wake();
  }

  /** Counts the answer to a request, named by the key of its first unit. Null: the answer has something usable. */
  judge(key: string, found: Unusable | null, most: number): void {
    // Transfers that one loss of the connection broke off are one sign, once the service is known to answer.
    const isLoss = this.#isUsable && found?.isCut === true;
    if (found !== null) {
      // After a loss, requests are sent one at a time, so that each proves more.
      const least = isLoss ? this.#inRow.weight + this.#weight : NOTHING_IN_ROW;
      this.#room = Math.max(least, Math.floor(Math.min(this.#room, this.#taken.size * this.#weight) / 2));
    }
    if (isLoss && (this.#taken.get(key) ?? 0) < this.#cutAt) return;
    if (isLoss) this.#cutAt = performance.now();
    const weight = isLoss && this.#taken.size > 1 ? 1 : most;
    const add = (one: { weight: number; requests: number }) => {
      one.weight += weight;
      one.requests++;
    };
    add(this.#judged);
    if (found === null) {
      this.#onProven?.();
      this.#onProven = undefined;
      this.#isUsable = true;
      this.#inRow = { weight: 0, requests: 0 };
      this.#room = Math.min(MOST_ROOM, 2 * this.#room);
      this.#wake();
      return;
    }
    add(this.#inRow);
    add(this.#ofAll);
    const isFirst = this.#judged.weight <= NOTHING_AT_FIRST.of && this.#ofAll.weight >= NOTHING_AT_FIRST.most;
    if (this.nothing !== null || (this.#inRow.weight < NOTHING_IN_ROW && !isFirst)) return;
    const { requests } = isFirst ? this.#ofAll : this.#inRow;
    const { why, isKept } = found;
    this.nothing = { requests, of: isFirst ? this.#judged.requests : requests, why, key, isKept };
    this.stopped.abort(new Error('the answers have nothing usable'));
  }

  /** Stops the job at a warning in its first answers. */
  hear(warnings: readonly ServiceWarning[]): void {
    const found = notAccepted(warnings, this.#accepted);
    if (found.length === 0 || !this.#isFirst || this.#judged.weight > NOTHING_AT_FIRST.of) return;
    this.stoppedBy = addWarnings(this.stoppedBy, found);
    this.stopped.abort(new Error('the service warns about the request'));
  }

  #wake(): void {
    while (this.#waiting.next && !this.isFull) {
      this.open(this.#waiting.next.item);
      this.#waiting.next.resolve();
    }
  }
}

const keyOf = ([first]: readonly Pick<Unit, 'key'>[]): string => first?.key ?? '';

/** The gates of one process: one gate for each job. */
export class FailureGates {
  readonly #gates = new Map<string, FailureGate>();

  /** Returns the part of a purchase in its job's gate; null for a purchase without a job. `leave` releases it. */
  enter({ failureStop }: Pick<PurchaseRequest, 'failureStop'>, stats: PurchaseStats): PurchaseFailures | null {
    if (!failureStop) return null;
    const { job, since } = failureStop;
    const found = this.#gates.get(job);
    const gate = found?.since === since ? found : new FailureGate(failureStop);
    // A slice from before the last resume counts by itself.
    if (found === undefined || found.since <= since) {
      this.#gates.delete(job);
      this.#gates.set(job, gate);
    }
    gate.users++;
    this.#forget();
    return new PurchaseFailures(gate, failureStop, stats);
  }

  leave(failures: PurchaseFailures | null): void {
    if (failures) failures.gate.users--;
  }

  /** Forgets the jobs that were used least recently. The counts of a job outlast its slices, because its next slice follows. */
  #forget(): void {
    const idle = [...this.#gates].filter(([, { users }]) => users === 0);
    for (const [job] of idle.slice(0, Math.max(0, idle.length - IDLE_KEPT))) this.#gates.delete(job);
  }
}

/** One purchase at the failure gate of its job: the requests wait there, and the answers are counted. */
export class PurchaseFailures {
  readonly gate: FailureGate;
  own: AnswerCounts = noAnswers;
  /** The warnings and notices in the answers to this purchase. */
  warnings: readonly ServiceWarning[] = [];
  readonly #limit: FailedLimit | undefined;
  readonly #weight: number;
  readonly #unitWeight: number;
  readonly #stats: PurchaseStats;

  constructor(gate: FailureGate, { limit, weight, unitWeight = 1 }: FailureStop, stats: PurchaseStats) {
    this.gate = gate;
    this.#weight = weight;
    this.#unitWeight = unitWeight;
    this.#limit = limit;
    this.#stats = stats;
  }

  get receipt(): Pick<Receipt, 'answers' | 'tooManyFailed' | 'nothing' | 'warnings' | 'stoppedBy'> {
    const { nothing, counts, stopped, stoppedBy } = this.gate;
    const { warnings } = this;
    const answers = this.#limit && this.own;
    if (nothing) return { answers, nothing, warnings };
    if (stoppedBy.length > 0) return { answers, stoppedBy, warnings };
    return { answers, warnings, tooManyFailed: stopped.signal.aborted ? counts : undefined };
  }

  /**
   * Runs `work`, which buys these units, once they may be bought. `isStarted`: the units have a run in progress, so that they do not wait.
   */
  async during<T>(units: readonly Unit[], signal: AbortSignal, work: () => Promise<T>, isStarted = false): Promise<T> {
    await this.#enter(units, signal, isStarted);
    try {
      return await work();
    } finally {
      this.gate.leave(units);
    }
  }

  async #enter(units: readonly Unit[], signal: AbortSignal, isStarted = false): Promise<void> {
    if (isStarted || !this.gate.isFull) this.gate.open(units.length);
    else await this.#stats.waits.during(this.gate.wait(units.length, signal), FIRST_ANSWERS);
  }

  /**
   * Counts the error of an attempt. Returns whether the attempt was answered as a success, with nothing usable. `isUnwell`: the circuit breaker
   * sends one request at a time, so that each proves more.
   */
  unusable(error: ApiError, units: readonly Unit[], isUnwell: boolean): boolean {
    if (!isUnusable(error)) return false;
    const { message, facts, body } = error;
    const isCut = facts.truncated && !facts.unrecognized;
    const weight = Math.max(this.#weight, isUnwell ? (isCut ? CUT_COUNTS_AS : PAGES_COUNT_AS) : 0);
    this.gate.judge(keyOf(units), { why: message, isKept: Boolean(body), isCut }, weight);
    return true;
  }

  /** Counts consecutive polls of a run that were answered without a run. */
  unusablePolls(why: string, unit: Unit, polls: number): void {
    this.gate.judge(unit.key, { why, isKept: false }, polls);
  }

  /** Waits with units whose request is not sent yet, or is repeated after an unusable answer: its answer is one more. */
  async again(units: readonly Unit[], signal: AbortSignal): Promise<void> {
    this.gate.leave(units);
    await this.#enter(units, signal).catch((error: unknown) => {
      this.gate.open(units.length);
      throw error;
    });
  }

  /** Counts answers that landed. `nothing`: see `Bought`. */
  landed(units: readonly Pick<UnitOutcome, 'key' | 'status' | 'errorTag' | 'result'>[], nothing: string | null): void {
    // One page without content proves less than an answer of another form.
    const isContent = units.some(({ status }) => status === 'success');
    const weight = isContent ? Math.min(this.#weight, units.length * this.#unitWeight) : this.#weight;
    if (units.length > 0)
      this.gate.judge(keyOf(units), nothing === null ? null : { why: nothing, isKept: true }, weight);
    if (this.#limit === undefined) return;
    let failed = 0;
    const tags = new Map<string, number>();
    for (const unit of units) {
      const isEmpty = unit.status !== 'error' && this.#limit.isEmpty(unit);
      const tag = unit.status === 'error' ? (unit.errorTag ?? 'UNKNOWN') : isEmpty ? EMPTY_ANSWER : null;
      if (tag === null) continue;
      failed++;
      tags.set(tag, (tags.get(tag) ?? 0) + 1);
    }
    this.#count({ answered: units.length, failed, tags: Object.fromEntries(tags) });
  }

  hear(warnings: readonly ServiceWarning[] = []): void {
    if (warnings.length === 0) return;
    this.warnings = addWarnings(this.warnings, warnings);
    this.gate.hear(warnings);
  }

  /** Counts units that ended without an answer. */
  failed(units: readonly Unit[], tag: string): void {
    this.#count({ answered: units.length, failed: units.length, tags: { [tag]: units.length } });
  }

  #count(counts: AnswerCounts): void {
    this.own = addCounts(this.own, counts);
    this.gate.count(counts);
  }
}
