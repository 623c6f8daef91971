import { fieldOf } from '../../api/checks/field-of.js';
import { GRANT_AHEAD_MS } from '../../core/limiter/rate.js';
import type { Claimed, Lost } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import { type Asked, tagOf } from './attempt.js';
import type { LongRunning, RunFacts, Unit } from './purchase-request.js';
import { Request, type Shared } from './request.js';

/** Time in ms. By the service's clock, which may differ from ours, a run may have begun up to this long before its intent. */
const LOOK_BACK_MS = 5 * 60_000;
/** Time in ms between searches for a run whose start got no answer. `POLL_MS`: until the answer is overdue; `LAST_POLL_MS`: after that. */
const POLL_MS = 20_000;
const LAST_POLL_MS = 3000;
/** A new attempt that takes over an overdue run follows the run for this time, in ms, to see whether the run has ended. */
const OVERDUE_POLL_MS = 3000;
/** The longest timer, in ms. A timer with a longer time would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;
/**
 * Time in ms within which a run appears in the list after its start. Before this time is over, the list cannot prove that there is no run.
 */
const LISTED_MS = 15_000;

/**
 * Follows the run of one unit to its end and lands its answer. A run in progress is taken over. If a start got no answer, its run is
 * searched for. A run is started only if there is neither a run in progress nor a start without an answer.
 */
export class LongRunningUnit {
  readonly #shared: Shared;
  readonly #longRunning: LongRunning;
  readonly #unit: Unit;
  readonly #claimed: Claimed;

  constructor(shared: Shared, longRunning: LongRunning, unit: Unit, claimed: Claimed) {
    this.#shared = shared;
    this.#longRunning = longRunning;
    this.#unit = unit;
    this.#claimed = claimed;
  }

  async toEnd(): Promise<void> {
    const { attempt } = this.#shared;
    const { started, lost } = this.#claimed;
    if (started) {
      const asked = attempt.adopt(this.#unit, started, 0);
      const facts = readFacts(started.facts);
      return facts ? this.#follow(asked, facts) : this.#search(asked, null);
    }
    return lost ? this.#searchLost(lost) : this.#start();
  }

  async #start(): Promise<void> {
    if (this.#longRunning.startsNothing) return this.#longRunning.slots.free(this.#unit.key);
    const end = await new Request(this.#shared, [this.#unit]).attempts();
    if (end === null) return;
    return 'facts' in end ? this.#follow(end.asked, end.facts) : this.#search(end.asked, end.error.message);
  }

  /** Searches for the run of a start whose process has ended. The intent is an unknown outcome until the run is found. */
  async #searchLost({ intentId, at, deadline }: Lost): Promise<void> {
    const { attempt, giveUp } = this.#shared;
    const found = await this.#findRun({ id: intentId, at, deadline }, null);
    if (found === null) {
      await giveUp([this.#unit]);
      return this.#longRunning.slots.free(this.#unit.key);
    }
    await this.#note(intentId, found === 'none' ? { run: null } : { ...found });
    const asked = attempt.adopt(this.#unit, { intentId, at }, deadline);
    return found === 'none' ? this.#startAgain(asked) : this.#follow(asked, found);
  }

  /** Searches for the run of a start whose intent is open. `message`: the service's error message; null if there was none. */
  async #search(asked: Asked, message: string | null): Promise<void> {
    const { attempt, giveUp } = this.#shared;
    const found = await this.#findRun(asked, message);
    if (found === 'none') return this.#startAgain(asked);
    if (found === null) {
      await attempt.miss(asked, message ?? 'the process ended before an answer landed', 'maybe');
      await giveUp([this.#unit]);
      return this.#longRunning.slots.free(this.#unit.key);
    }
    await this.#note(asked.id, { ...found });
    return this.#follow(asked, found);
  }

  async #startAgain(asked: Asked): Promise<void> {
    await this.#shared.attempt.miss(asked, 'the list of runs shows that nothing was started', 'never');
    return this.#start();
  }

  #note(intentId: string, facts: Json): Promise<void> {
    const { deps, purchaseRequest } = this.#shared;
    return deps.journal.note(intentId, purchaseRequest.owner, facts);
  }

  /** Searches for the run of a start. Ends when the run is found, or when a later search would not find more. */
  async #findRun(
    { id, at, deadline }: Pick<Asked, 'id' | 'at' | 'deadline'>,
    message: string | null,
  ): Promise<RunFacts | 'none' | null> {
    const { waits, purchaseRequest, stats, stop } = this.#shared;
    // The start was sent before this moment. The waits are also bounded by this monotonic clock, because the wall clock may be wrong.
    const begun = performance.now();
    const listed = Math.min(LISTED_MS, purchaseRequest.timeoutMs);
    const left = (until: number, most: number) => Math.min(until - Date.now(), begun + most - performance.now());
    const sought = { tag: tagOf(this.#unit, id), since: at - LOOK_BACK_MS, message };
    for (let late = 0; ; ) {
      const found = await stats.whileListing(() => this.#longRunning.find(this.#unit, sought, stop));
      if (found !== null && found !== 'none') return found;
      const toAnswer = left(deadline, GRANT_AHEAD_MS + purchaseRequest.timeoutMs);
      if (toAnswer <= 0 && ++late >= 2 && (found === null || left(at + listed, listed) <= 0)) return found;
      const ms = toAnswer > 0 ? Math.min(POLL_MS, toAnswer) : LAST_POLL_MS;
      await waits.sleep(ms, 'a run whose start got no answer', stop);
    }
  }

  async #follow(asked: Asked, facts: RunFacts): Promise<void> {
    const { attempt, stats, stop, record, budget, purchaseRequest } = this.#shared;
    const { slots, maxRunMs } = this.#longRunning;
    await slots.name(this.#unit.key, facts.run);
    const run = { at: asked.at };
    stats.runs.add(run);
    const retryBefore = purchaseRequest.freshness?.retryBefore;
    const { leftMs, startedAt } = followTime({ at: asked.at, now: Date.now(), maxRunMs, retryBefore });
    const overdue = new AbortController();
    const timer = Number.isFinite(leftMs)
      ? setTimeout(() => overdue.abort(new Error('overdue')), Math.min(leftMs, LONGEST_TIMER_MS))
      : undefined;
    try {
      const until = AbortSignal.any([stop, overdue.signal]);
      const bought = await this.#longRunning.follow(this.#unit, facts, startedAt, until);
      if (bought) await attempt.land(asked, bought);
      else {
        const why = `the service no longer returns the run ${facts.run}`;
        await attempt.miss(asked, why, 'maybe');
        await record(this.#unit, 'RUN_GONE', `${why}; its cost is unknown`);
      }
    } catch (error) {
      if (stop.aborted) stats.leftRunning++;
      if (stop.aborted || !overdue.signal.aborted) throw error;
      // The intent stays open and the slot stays taken, because the run is still in progress and may be taken over.
      const age = Math.round((Date.now() - asked.at) / 60_000);
      await record(
        this.#unit,
        'RUN_OVERDUE',
        `the run ${facts.run} has not ended after ${age} min and is left running; --retry-failed follows it again`,
      );
      return;
    } finally {
      clearTimeout(timer);
      stats.runs.delete(run);
      budget.landed();
    }
    await slots.free(this.#unit.key);
  }
}

/**
 * `leftMs`: how long a run is followed from now, at least three seconds. `startedAt`: the time from which the intervals of the polls are
 * counted. `at`: the time of the intent. `retryBefore`: the time of the last `--retry-failed`, from which `maxRunMs` is counted again.
 * Times in Unix ms.
 */
export function followTime({
  at,
  now,
  maxRunMs = Number.POSITIVE_INFINITY,
  retryBefore = 0,
}: {
  readonly at: number;
  readonly now: number;
  readonly maxRunMs?: number | undefined;
  readonly retryBefore?: number | undefined;
}): { readonly leftMs: number; readonly startedAt: number } {
  const leftMs = Math.max(Math.max(at, retryBefore) + maxRunMs - now, OVERDUE_POLL_MS);
  return { leftMs, startedAt: leftMs > OVERDUE_POLL_MS ? at : now };
}

/** Returns the facts of a noted run. Returns null if the note says that the start created no run. */
function readFacts(facts: Json): RunFacts | null {
  const [run, requestId] = [fieldOf(facts, 'run'), fieldOf(facts, 'requestId')];
  if (typeof run !== 'string') return null;
  return { run, requestId: typeof requestId === 'string' ? requestId : null };
}
