import { setMaxListeners } from 'node:events';
import type { Claimed } from '../../core/purchase/journal.js';
import { OverBudget, reservedMicros } from '../../core/purchase/spend.js';
import { attempt, type LostStart, type Running } from './attempt.js';
import { BudgetGates, RequestBudget, splitByBudget } from './budget-gate.js';
import { FailureGates } from './failure-gate.js';
import { FailedAttempts, Refusals } from './failures.js';
import {
  type Batch,
  giveUp,
  hopeless,
  type PurchaseContext,
  type PurchaseDeps,
  priceOf,
  recordKnown,
} from './journal-writes.js';
import { LongRunningUnit } from './long-running.js';
import type { Control, LongRunning, Purchase, Receipt, Unit } from './purchase-request.js';
import { PurchaseStats } from './purchase-stats.js';

const TICK_MS = 500;

/**
 * Makes all calls that cost money. A purchase claims the units, writes each intent before sending and each answer before returning, retries
 * by the failure table, keeps within its budget, and never buys a landed unit again.
 *
 * A purchase rejects with `ApiError` for failures that no retry helps (refused key, no credits). It rejects with `AllRefused` if the
 * service refuses the first units, or all units, for the same reason. It rejects with `OverBudget` if a cap allows not even one more unit.
 * A purchase rejects only after its requests in flight have landed; the journal then has all that was bought.
 */
export function createPurchase(deps: PurchaseDeps): Purchase {
  const gates = new BudgetGates();
  const failureGates = new FailureGates();
  return async (purchaseRequest, control) => {
    const gate = gates.enter(purchaseRequest);
    const aborted = new AbortController();
    const stats = new PurchaseStats();
    const failures = failureGates.enter(purchaseRequest, stats);
    const ends = failures ? [failures.gate.stopped.signal] : [];
    const stop = AbortSignal.any([control.stop, aborted.signal, ...ends]);
    const context = { ...deps, purchaseRequest, stop, cut: control.cut, gate, failures, stats };
    try {
      return await new Loop(context, control, aborted).toEnd();
    } catch (error) {
      const { workerCapMicros } = purchaseRequest;
      const isOwn = error instanceof OverBudget && (error.scope === 'job' || error.scope === 'call');
      if (workerCapMicros === undefined || !isOwn) throw error;
      throw new OverBudget('worker', workerCapMicros, error.remainingMicros, error.openMicros, null);
    } finally {
      gates.leave(purchaseRequest, gate);
      failureGates.leave(failures);
      await deps.journal.release(purchaseRequest.owner);
    }
  };
}

/** Claims the units of one purchase, makes the attempts at its requests, and decides what follows each attempt. */
class Loop {
  readonly #context: PurchaseContext;
  readonly #control: Control;
  readonly #units: ReadonlyMap<string, Unit>;
  /** Ends the purchase early: after a fatal failure, or before a wait that is left to Temporal. */
  readonly #aborted: AbortController;
  readonly #refusals: Refusals;
  readonly #tasks = new Set<Promise<void>>();
  #fatal: unknown = null;
  #waitMs = 0;
  #waitingFor: string | null = null;

  constructor(context: PurchaseContext, control: Control, aborted: AbortController) {
    this.#context = context;
    this.#control = control;
    this.#aborted = aborted;
    this.#units = new Map(context.purchaseRequest.units.map((unit) => [unit.key, unit]));
    this.#refusals = new Refusals(context);
    // Each request of the purchase adds a listener, so a large number of listeners is not a leak.
    setMaxListeners(0, context.stop, context.cut);
  }

  async toEnd(): Promise<Receipt> {
    const { stop, stats, failures } = this.#context;
    const ticker = setInterval(() => void this.#tick(), TICK_MS);
    try {
      await this.#claimAndBuy();
    } catch (error) {
      if (!stop.aborted) this.#fail(error);
    } finally {
      while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
      clearInterval(ticker);
    }
    if (this.#fatal) throw this.#fatal;
    const isStopped = failures?.gate.stopped.signal.aborted;
    const isCancelled = this.#control.stop.aborted && !this.#control.timeUp?.aborted;
    // If answers stopped the job, a person decides about the refusals among them, so these are recorded.
    const end = isStopped || !stop.aborted ? 'complete' : isCancelled ? 'cancelled' : 'stopped';
    await this.#refusals.close(this.#units.size, end);
    const { landed, requests, bought, failed, costMicros, earlierMicros, unknownOutcomes, leftRunning } = stats;
    return {
      complete: landed === this.#units.size,
      requests,
      bought,
      failed,
      costMicros,
      earlierMicros,
      unknownOutcomes: unknownOutcomes + stats.earlierUnknowns,
      leftRunning,
      ...failures?.receipt,
      waitMs: this.#waitMs,
      waitingFor: this.#waitingFor,
    };
  }

  /**
   * Claims units and buys the claimed units. Waits for units that other attempts are buying, and then claims those units again, until no
   * unit is left.
   */
  async #claimAndBuy(): Promise<void> {
    const { journal, health, stats, stop, purchaseRequest } = this.#context;
    const { owner, freshness, unitsPerRequest, longRunning } = purchaseRequest;
    // A purchase that starts nothing leaves runs of live attempts to those attempts. The purchase waits only for `yieldAfterMs`, because a
    // dead attempt is detected within that time.
    const patience = longRunning?.startsNothing ? AbortSignal.timeout(this.#control.yieldAfterMs) : null;
    let keys: readonly string[] = [...this.#units.keys()];
    while (keys.length > 0) {
      stop.throwIfAborted();
      const claim = await journal.claim(keys, owner, freshness);
      stats.landed += claim.landed.length;
      // Earlier requests for these units got no answer, so calls are sent one at a time until one call succeeds.
      if (health.successes === 0 && claim.mine.some(({ unknowns }) => unknowns > 0)) health.suspect();
      const lost: Unit[] = [];
      const buyable: Unit[] = [];
      for (const claimed of await recordKnown(this.#context, claim.mine)) {
        const { key } = claimed;
        const unit = this.#units.get(key) as Unit;
        stats.unknowns.set(key, claimed.unknowns);
        if (!longRunning) stats.lostSince(purchaseRequest.calledAt, claimed);
        if (longRunning && (claimed.started || claimed.lost || !hopeless(this.#context, key))) {
          this.#start(this.#buyRun(longRunning, unit, claimed));
        } else (hopeless(this.#context, key) ? lost : buyable).push(unit);
      }
      if (lost.length > 0) await giveUp(this.#context, lost);
      for (let from = 0; from < buyable.length; from += unitsPerRequest)
        this.#start(this.#buyInTurn(buyable.slice(from, from + unitsPerRequest)));
      if (claim.theirs.length > 0 && !(await this.#waitForOthers(claim.theirs, patience))) break;
      keys = claim.theirs;
    }
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Waits for units that another attempt is buying. Returns false if the wait takes longer than `patience`. */
  async #waitForOthers(theirs: readonly string[], patience: AbortSignal | null): Promise<boolean> {
    const { journal, stop } = this.#context;
    try {
      await journal.waitForAny(theirs, patience ? AbortSignal.any([stop, patience]) : stop);
      return true;
    } catch (error) {
      if (stop.aborted || !patience?.aborted) throw error;
      return false;
    }
  }

  #start(work: Promise<unknown>): void {
    const task: Promise<void> = work
      .then(() => undefined)
      .catch((error: unknown) => {
        if (!this.#context.stop.aborted) this.#fail(error);
      })
      .finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Records the first failure that no retry helps, and stops sending. */
  #fail(error: unknown): void {
    this.#fatal ??= error;
    this.#aborted.abort(error);
  }

  /** Starts the run of a unit if it has none, and follows it to its end. */
  async #buyRun(longRunning: LongRunning, unit: Unit, claimed: Claimed): Promise<void> {
    const run = new LongRunningUnit(this.#context, longRunning, unit);
    const follow = async () => {
      for (let step = await run.takeOver(claimed); step === 'start'; ) {
        if (longRunning.startsNothing) return longRunning.slots.free(unit.key);
        const start = await this.#buy([unit]);
        step = start === null ? 'ended' : await run.followStart(start);
      }
    };
    const isStarted = Boolean(claimed.started || claimed.lost);
    return this.#inTurn([unit], follow, isStarted);
  }

  #buyInTurn(units: readonly Unit[]): Promise<unknown> {
    return this.#inTurn(units, () => this.#buy(units));
  }

  /** Runs work that buys units of a job. Waits first if the answers of the job must show that it is right. */
  #inTurn<T>(units: readonly Unit[], work: () => Promise<T>, isStarted = false): Promise<T> {
    const { failures, stop } = this.#context;
    return failures ? failures.during(units, stop, work, isStarted) : work();
  }

  /**
   * Buys units with one request: makes attempts until the units have ended, or are left to other requests. Returns a run that is in
   * progress or may be in progress; otherwise null.
   */
  async #buy(units: readonly Unit[]): Promise<Running | LostStart | null> {
    const { purchaseRequest, gate, stats, stop, health, failures: answers } = this.#context;
    const { cap, mostMicros } = purchaseRequest;
    const isCapped = cap || mostMicros !== undefined;
    const limitMicros = isCapped ? this.#bound(units, purchaseRequest.estimateMicros(units)) : null;
    let batch: Batch = { units, limitMicros };
    const budget = new RequestBudget(gate, stats, stop);
    const failures = new FailedAttempts(this.#context);
    try {
      for (let tries = 0; ; tries++) {
        let outcome = await attempt(this.#context, batch, budget);
        while (outcome.type === 'overBudget') {
          if (await budget.refused(outcome.over)) batch = this.#smaller(batch, outcome.over);
          outcome = await attempt(this.#context, batch, budget);
        }
        gate.attemptEnded();
        if (outcome.type === 'blocked') continue;
        if (outcome.type === 'held') {
          budget.leave();
          await answers?.again(units, stop);
          continue;
        }
        if (outcome.type === 'landed') return null;
        const isUnusable = 'error' in outcome && answers?.unusable(outcome.error, batch.units, health.holdMs > 0);
        if (outcome.type === 'failed' && isUnusable && stop.aborted) return null;
        if (outcome.type === 'lostStart') failures.checkService(outcome.error, budget.askedAt);
        if (outcome.type !== 'failed') return outcome;

        const next = await failures.next(outcome.error, budget.askedAt, batch.units, tries);
        if (next.type === 'retry') {
          if (purchaseRequest.sendsOnce) throw outcome.error;
          if (next.ms > 0) await stats.waits.sleep(next.ms, next.why, stop);
          if (isUnusable) await answers?.again(units, stop);
          continue;
        }
        if (next.type === 'refused') await this.#refusals.add(next.unit, outcome.error);
        if (next.type === 'lost') await giveUp(this.#context, next.units);
        if (next.type === 'lost' || next.type === 'split')
          for (const part of next.parts) this.#start(this.#buyInTurn(part));
        return null;
      }
    } finally {
      budget.leave();
    }
  }

  #bound([unit]: readonly Unit[], remainingMicros: number): number | null {
    return this.#context.purchaseRequest.longRunning?.bound(unit as Unit, remainingMicros) ?? null;
  }

  /**
   * Makes a request smaller to fit the budget: lowers the bound of a run, or leaves units to another request. Throws if the budget does not
   * allow a single unit.
   */
  #smaller({ units, limitMicros }: Batch, over: OverBudget): Batch {
    const { purchaseRequest } = this.#context;
    const { remainingMicros, multiple } = over;
    const bound = this.#bound(units, Math.floor(remainingMicros / Math.max(1, multiple)));
    if (bound !== null && bound !== limitMicros) return { units, limitMicros: bound };
    const takes = (some: readonly Unit[]) =>
      reservedMicros(priceOf(purchaseRequest, { units: some, limitMicros: null }), multiple);
    const parts = splitByBudget(units, (some) => takes(some) <= remainingMicros);
    if (parts === null) throw over;
    this.#start(this.#buyInTurn(parts.rest));
    return { units: parts.first, limitMicros };
  }

  /** Reports progress. If all remaining requests wait for a long time, ends the purchase, so that Temporal waits instead. */
  async #tick(): Promise<void> {
    const { limiter, health, gate, stats, stop, purchaseRequest } = this.#context;
    const { blockedUntil, blockReason } = await limiter.view();
    // A request that is sent once waits for a block with its turn.
    const blockMs = blockedUntil === null || purchaseRequest.sendsOnce ? 0 : blockedUntil - Date.now();
    let hold = Math.max(blockMs, health.holdMs);
    let why = blockMs > 0 ? blockReason : hold > 0 ? 'the service to recover' : null;
    const { first, size } = stats.waits;
    // A wait for another purchase of the job has no known end.
    const known = first !== null && Number.isFinite(first.until);
    if (hold === 0 && known && size === this.#tasks.size) {
      hold = first.until - performance.now();
      why = first.why;
    }
    const { landed, failed, costMicros, earlierMicros, requestsSent, runs } = stats;
    const now = Date.now();
    const slot = stats.slotWait(purchaseRequest.longRunning?.slots ?? {}, now);
    const budget = stats.budgetWaits.size > 0 && gate.checking ? gate.why : null;
    const waitingFor = hold > 0 ? why : (budget ?? slot ?? stats.longWait(now));
    this.#control.progress?.({ landed, failed, costMicros, earlierMicros, running: runs.size, waitingFor });
    if (hold > this.#control.yieldAfterMs && requestsSent.size === 0 && !stop.aborted) {
      this.#waitMs = hold;
      this.#waitingFor = why;
      this.#aborted.abort(new Error('yielded'));
    }
  }
}
