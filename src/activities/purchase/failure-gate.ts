import type { ApiError } from '../../api/wire/errors.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import {
  type AnswerCounts,
  addCounts,
  EMPTY_ANSWER,
  type FoundNothing,
  failsTooOften,
  NOTHING_AT_FIRST,
  NOTHING_IN_ROW,
  noAnswers,
} from '../../core/rows/stop-at-failed.js';
import { addWarnings, notAccepted, type ServiceWarning } from '../../core/rows/warnings.js';
import { WaitQueue } from '../../core/waits/wait-queue.js';
import type { FailedLimit, FailureStop, PurchaseRequest, Receipt, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

const FIRST_ANSWERS = 'the first answers: they show whether the job is right';
/** The number of jobs without a purchase in progress whose counts are kept. */
const IDLE_KEPT = 100;
/** From this room on, the gate bounds nothing: a process has fewer requests in flight. */
const MOST_ROOM = 4096;

/**
 * The answers that all purchases of a job share in a process. The gate begins with few requests in flight. Each usable answer doubles their
 * number, and answers with nothing usable take their place.
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
  readonly #waiting = new WaitQueue<number>();

  constructor({ since, limit, weight, isProven = false, onProven, acceptWarnings }: FailureStop) {
    this.since = since;
    this.#limit = limit ?? null;
    this.#weight = weight;
    this.#accepted = acceptWarnings;
    this.#isFirst = !isProven;
    this.#onProven = onProven;
    this.#isProven = limit === undefined || limit.answered >= limit.after;
    this.#room = isProven ? MOST_ROOM : NOTHING_IN_ROW;
  }

  /** Whether further requests wait for the answers to those that are being bought. */
  get isFull(): boolean {
    if (this.#open === 0) return false;
    const more = (this.#openRequests + 1) * this.#weight;
    if (this.#room < MOST_ROOM && this.#inRow.weight + more > this.#room) return true;
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

  leave(units: number): void {
    this.#open -= units;
    this.#openRequests--;
    this.#wake();
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

  /** Counts the answer to one request. `why`: why it has nothing usable; null: it has something. */
  judge(why: string | null, key: string, pages = this.#weight): void {
    const weight = Math.min(pages, this.#weight);
    const add = (one: { weight: number; requests: number }) => {
      one.weight += weight;
      one.requests++;
    };
    add(this.#judged);
    if (why === null) {
      this.#onProven?.();
      this.#onProven = undefined;
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
    this.nothing = { requests, of: isFirst ? this.#judged.requests : requests, why, key };
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
  /** The answers to this purchase. */
  own: AnswerCounts = noAnswers;
  /** The warnings and notices in the answers to this purchase. */
  warnings: readonly ServiceWarning[] = [];
  readonly #limit: FailedLimit | undefined;
  readonly #stats: PurchaseStats;

  constructor(gate: FailureGate, { limit }: FailureStop, stats: PurchaseStats) {
    this.gate = gate;
    this.#limit = limit;
    this.#stats = stats;
  }

  /** The part of the receipt. */
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
      this.gate.leave(units.length);
    }
  }

  async #enter(units: readonly Unit[], signal: AbortSignal, isStarted = false): Promise<void> {
    if (isStarted || !this.gate.isFull) this.gate.open(units.length);
    else await this.#stats.waits.during(this.gate.wait(units.length, signal), FIRST_ANSWERS);
  }

  /** Counts the error of an attempt. Returns whether the attempt was answered, with nothing usable, and may have been charged. */
  unusable({ facts, message, verdict }: ApiError, [first]: readonly Unit[]): boolean {
    const isAnswer = facts.unrecognized === true && verdict.charged === 'maybe' && (facts.status ?? 0) < 300;
    if (isAnswer && first) this.gate.judge(message, first.key);
    return isAnswer;
  }

  /** Waits with units whose last attempt was unusable: the answer to the next attempt is one more. */
  async again(units: readonly Unit[], signal: AbortSignal): Promise<void> {
    this.gate.leave(units.length);
    await this.#enter(units, signal).catch((error: unknown) => {
      this.gate.open(units.length);
      throw error;
    });
  }

  /** Counts answers that landed. `nothing`: see `Bought`. */
  landed(units: readonly Pick<UnitOutcome, 'key' | 'status' | 'errorTag' | 'result'>[], nothing: string | null): void {
    const [first] = units;
    // One page without content proves less than an answer of another form.
    const pages = units.some(({ status }) => status === 'success') ? units.length : undefined;
    if (first) this.gate.judge(nothing, first.key, pages);
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
