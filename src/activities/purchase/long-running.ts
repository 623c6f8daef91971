import { fieldOf } from '../../api/checks/field-of.js';
import { isUnusable } from '../../api/wire/errors.js';
import { GRANT_AHEAD_MS } from '../../core/limiter/rate.js';
import { ownReasons } from '../../core/purchase/attempts.js';
import { type Claimed, RUN_OVERDUE } from '../../core/purchase/journal.js';
import { ODD_POLLS } from '../../core/rows/stop-at-failed.js';
import type { Json } from '../../core/text/json.js';
import { isApiError } from '../call/failure.js';
import { type LostStart, type Running, tagOf } from './attempt.js';
import { adopt, fail, giveUp, land, miss, note, type OpenIntent, type PurchaseContext } from './journal-writes.js';
import type { Bought, LongRunning, RunFacts, Unit } from './purchase-request.js';

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

/** What follows for a unit: it has ended, or it certainly has no run, and a run is started next. */
export type RunOutcome = 'ended' | 'start';

/** Follows the run of one unit to its end and lands its answer. If a start got no answer, its run is searched for. */
export class LongRunningUnit {
  readonly #context: PurchaseContext;
  readonly #longRunning: LongRunning;
  readonly #unit: Unit;

  constructor(context: PurchaseContext, longRunning: LongRunning, unit: Unit) {
    this.#context = context;
    this.#longRunning = longRunning;
    this.#unit = unit;
  }

  /** Continues the run that an earlier attempt has started or may have started. */
  async takeOver({ started, lost }: Claimed): Promise<RunOutcome> {
    if (started) {
      const intent = adopt(this.#context, this.#unit, started, 0);
      const facts = readFacts(started.facts);
      return facts ? this.#follow(intent, facts) : this.#search(intent, null);
    }
    if (!lost) return 'start';
    // The process that made the start has ended. The intent is an unknown outcome until the run is found.
    const found = await this.#findRun({ id: lost.intentId, ...lost }, null);
    if (found === null) return this.#giveUp();
    await note(this.#context, lost.intentId, found === 'none' ? { run: null } : found);
    const intent = adopt(this.#context, this.#unit, lost, lost.deadline);
    return found === 'none' ? this.#startAgain(intent) : this.#follow(intent, found);
  }

  followStart(start: Running | LostStart): Promise<RunOutcome> {
    if (start.type === 'running') return this.#follow(start.intent, start.facts);
    return this.#search(start.intent, start.error.message);
  }

  /** Searches for the run of a start whose intent is open. `message`: the service's error message; null if there was none. */
  async #search(intent: OpenIntent, message: string | null): Promise<RunOutcome> {
    const found = await this.#findRun(intent, message);
    if (found === 'none') return this.#startAgain(intent);
    if (found === null) {
      await miss(this.#context, intent, message ?? ownReasons.processEnded, 'maybe');
      return this.#giveUp();
    }
    await note(this.#context, intent.id, found);
    return this.#follow(intent, found);
  }

  async #giveUp(): Promise<RunOutcome> {
    await giveUp(this.#context, [this.#unit]);
    await this.#longRunning.slots.free(this.#unit.key);
    return 'ended';
  }

  async #startAgain(intent: OpenIntent): Promise<RunOutcome> {
    await miss(this.#context, intent, ownReasons.nothingStarted, 'never');
    return 'start';
  }

  /** Searches for the run of a start. Ends when the run is found, or when a later search would not find more. */
  async #findRun(
    { id, at, deadline }: Pick<OpenIntent, 'id' | 'at' | 'deadline'>,
    message: string | null,
  ): Promise<RunFacts | 'none' | null> {
    const { purchaseRequest, stats, stop } = this.#context;
    // The start was sent before this moment. The waits are also bounded by this monotonic clock, because the wall clock may be wrong.
    const begun = performance.now();
    const listed = Math.min(LISTED_MS, purchaseRequest.timeoutMs);
    const left = (until: number, most: number) => Math.min(until - Date.now(), begun + most - performance.now());
    const sought = { tag: tagOf(this.#unit, id), since: at - LOOK_BACK_MS, message };
    for (let late = 0; ; ) {
      const found = await stats.during(stats.lists, () => this.#longRunning.find(this.#unit, sought, stop));
      if (found !== null && found !== 'none') return found;
      const toAnswer = left(deadline, GRANT_AHEAD_MS + purchaseRequest.timeoutMs);
      if (toAnswer <= 0 && ++late >= 2 && (found === null || left(at + listed, listed) <= 0)) return found;
      const ms = toAnswer > 0 ? Math.min(POLL_MS, toAnswer) : LAST_POLL_MS;
      await stats.waits.sleep(ms, 'a run whose start got no answer', stop);
    }
  }

  /** Returns the answer of a run that has ended. If polls are answered without a run, the run is followed again until they stop the job. */
  async #ended(facts: RunFacts, startedAt: number, signal: AbortSignal): Promise<Bought | null> {
    for (;;) {
      try {
        return await this.#longRunning.follow(this.#unit, facts, startedAt, signal);
      } catch (error) {
        const { failures } = this.#context;
        if (!isApiError(error) || !isUnusable(error) || !(failures || error.verdict.retry)) throw error;
        failures?.unusablePolls(error.message, this.#unit, ODD_POLLS);
      }
    }
  }

  async #follow(intent: OpenIntent, facts: RunFacts): Promise<RunOutcome> {
    const { stats, stop, gate, purchaseRequest } = this.#context;
    const { slots, maxRunMs } = this.#longRunning;
    await slots.name(this.#unit.key, facts.run);
    const run = { at: intent.at };
    stats.runs.add(run);
    const retryBefore = purchaseRequest.freshness?.retryBefore;
    const { leftMs, startedAt } = followTime({ at: intent.at, now: Date.now(), maxRunMs, retryBefore });
    const overdue = new AbortController();
    const timer = Number.isFinite(leftMs)
      ? setTimeout(() => overdue.abort(new Error('overdue')), Math.min(leftMs, LONGEST_TIMER_MS))
      : undefined;
    try {
      const until = AbortSignal.any([stop, overdue.signal]);
      const bought = await this.#ended(facts, startedAt, until);
      if (bought) await land(this.#context, intent, bought);
      else {
        const why = `the service no longer returns the run ${facts.run}`;
        await miss(this.#context, intent, why, 'maybe');
        await fail(this.#context, [this.#unit], 'RUN_GONE', `${why}; its cost is unknown`);
        this.#context.failures?.unusablePolls(why, this.#unit, 1);
      }
    } catch (error) {
      if (stop.aborted) stats.leftRunning++;
      if (stop.aborted || !overdue.signal.aborted) throw error;
      // The intent stays open and the slot stays taken, because the run is still in progress and may be taken over.
      const age = Math.round((Date.now() - intent.at) / 60_000);
      const why = `the run ${facts.run} has not ended after ${age} min and is left running`;
      await fail(this.#context, [this.#unit], RUN_OVERDUE, `${why}; --retry-failed follows it again`);
      return 'ended';
    } finally {
      clearTimeout(timer);
      stats.runs.delete(run);
      gate.attemptEnded();
    }
    await slots.free(this.#unit.key);
    return 'ended';
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
