import type { UnitOutcome } from '../../core/purchase/journal.js';
import {
  type AnswerCounts,
  addCounts,
  EMPTY_ANSWER,
  failsTooOften,
  noAnswers,
  type StopAtFailed,
} from '../../core/rows/stop-at-failed.js';
import { WaitQueue } from '../../core/waits/wait-queue.js';
import type { FailureStop, PurchaseRequest, Unit } from './purchase-request.js';
import type { PurchaseStats } from './purchase-stats.js';

const FIRST_ANSWERS = 'the first answers: they show how many fail';
/** The number of jobs without a purchase in progress whose counts are kept. */
const IDLE_KEPT = 100;

/** The answers that all purchases of a job share in a process. */
class FailureGate {
  readonly since: number;
  users = 0;
  /** Aborted when too many answers have failed: nothing more is sent. */
  readonly stopped = new AbortController();
  counts: AnswerCounts = noAnswers;
  readonly #limit: Required<StopAtFailed>;
  /** Number of units that are being bought. */
  #open = 0;
  /** Whether the first answers have come, in this process or another one, and not too many failed. */
  #isProven: boolean;
  readonly #waiting = new WaitQueue<number>();

  constructor({ since, percent, after, answered }: FailureStop) {
    this.since = since;
    this.#limit = { percent, after };
    this.#isProven = answered >= after;
  }

  /** Whether further units wait, because enough units for the first answers are being bought. */
  get isFull(): boolean {
    return !this.#isProven && this.#open > 0 && this.counts.answered + this.#open >= this.#limit.after;
  }

  /** Waits until the units may be bought, and counts them as being bought. */
  wait(units: number, signal: AbortSignal): Promise<void> {
    return this.#waiting.wait(units, { signal });
  }

  open(units: number): void {
    this.#open += units;
  }

  leave(units: number): void {
    this.#open -= units;
    this.#wake();
  }

  count(counts: AnswerCounts): void {
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

  #wake(): void {
    while (this.#waiting.next && !this.isFull) {
      this.open(this.#waiting.next.item);
      this.#waiting.next.resolve();
    }
  }
}

/** The gates of one process: one gate for each job with a limit of failed answers. */
export class FailureGates {
  readonly #gates = new Map<string, FailureGate>();

  /** Returns the part of a purchase in its job's gate; null without a limit. `leave` releases it. */
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
  readonly #isEmpty: FailureStop['isEmpty'];
  readonly #stats: PurchaseStats;

  constructor(gate: FailureGate, { isEmpty }: FailureStop, stats: PurchaseStats) {
    this.gate = gate;
    this.#isEmpty = isEmpty;
    this.#stats = stats;
  }

  /** The counts of the job in this process, if too many answers failed; otherwise null. */
  get tooMany(): AnswerCounts | null {
    return this.gate.stopped.signal.aborted ? this.gate.counts : null;
  }

  /**
   * Runs `work`, which buys these units, once they may be bought. `isStarted`: the units have a run in progress, so that they do not wait.
   */
  async during<T>(units: readonly Unit[], signal: AbortSignal, work: () => Promise<T>, isStarted = false): Promise<T> {
    if (isStarted || !this.gate.isFull) this.gate.open(units.length);
    else await this.#stats.waits.during(this.gate.wait(units.length, signal), FIRST_ANSWERS);
    try {
      return await work();
    } finally {
      this.gate.leave(units.length);
    }
  }

  /** Counts answers. */
  landed(units: readonly Pick<UnitOutcome, 'status' | 'errorTag' | 'result'>[]): void {
    let failed = 0;
    const tags = new Map<string, number>();
    for (const unit of units) {
      const tag = unit.status === 'error' ? (unit.errorTag ?? 'UNKNOWN') : this.#isEmpty(unit) ? EMPTY_ANSWER : null;
      if (tag === null) continue;
      failed++;
      tags.set(tag, (tags.get(tag) ?? 0) + 1);
    }
    this.#count({ answered: units.length, failed, tags: Object.fromEntries(tags) });
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
