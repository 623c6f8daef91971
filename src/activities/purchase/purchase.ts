import { setMaxListeners } from 'node:events';
import type { ApiError } from '../../api/wire/errors.js';
import type { Claimed } from '../../core/purchase/journal.js';
import type { KnownAnswer } from '../../core/rows/row-warehouse.js';
import { AllRefused } from '../call/failure.js';
import { Attempt, failed, type PurchaseDeps } from './attempt.js';
import { type BudgetGate, BudgetGates, PurchaseBudget } from './budget-gate.js';
import { LongRunningUnit } from './long-running.js';
import type { Control, PurchaseRequest, Receipt, Unit } from './purchase-request.js';
import { PurchaseStats } from './purchase-stats.js';
import { hopeless, lostTooOften, Request, type Shared } from './request.js';
import { Waits } from './waits.js';

export type { PurchaseDeps } from './attempt.js';
export type {
  Bought,
  Control,
  LongRunning,
  Progress,
  PurchaseRequest,
  Receipt,
  RunFacts,
  RunSlots,
  Start,
  Unit,
} from './purchase-request.js';

/** The whole purchase counts as refused after the service refuses this many units with the same sentence and no unit has been bought. */
const REFUSALS_TO_FAIL = 8;
const TICK_MS = 500;

/** Returns the message of a refusal without the id of its request. */
const sentenceOf = ({ message, requestId }: ApiError): string =>
  requestId === null ? message : message.replaceAll(requestId, '');

export type Purchase = (purchaseRequest: PurchaseRequest, control: Control) => Promise<Receipt>;

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
  return async (purchaseRequest, control) => {
    const gate = gates.enter(purchaseRequest);
    const run = new Run(deps, purchaseRequest, control, gate);
    try {
      return await run.toEnd();
    } finally {
      gates.leave(purchaseRequest, gate);
      await deps.journal.release(purchaseRequest.owner);
    }
  };
}

class Run {
  readonly #deps: PurchaseDeps;
  readonly #purchaseRequest: PurchaseRequest;
  readonly #control: Control;
  readonly #byKey: Map<string, Unit>;
  /** Ends the run early: after a fatal failure, or before a wait that is left to Temporal. */
  readonly #aborted = new AbortController();
  readonly #stop: AbortSignal;
  readonly #stats = new PurchaseStats();
  readonly #waits = new Waits();
  readonly #shared: Shared;
  readonly #tasks = new Set<Promise<void>>();
  #fatal: unknown = null;
  /**
   * Units that the service refused in a request of their own. The refusals are recorded once it is known that the purchase as a whole is
   * not refused.
   */
  readonly #refusals: { readonly unit: Unit; readonly error: ApiError }[] = [];
  /** Whether the service is known to have accepted a request of this kind before. */
  #accepted = false;
  #waitMs = 0;
  #waitingFor: string | null = null;

  constructor(deps: PurchaseDeps, purchaseRequest: PurchaseRequest, control: Control, gate: BudgetGate) {
    this.#deps = deps;
    this.#purchaseRequest = purchaseRequest;
    this.#control = control;
    this.#byKey = new Map(purchaseRequest.units.map((unit) => [unit.key, unit]));
    this.#stop = AbortSignal.any([control.stop, this.#aborted.signal]);
    // Each request of the purchase adds a listener, so a large number of listeners is not a leak.
    setMaxListeners(0, this.#stop, control.cut);
    this.#shared = {
      deps,
      purchaseRequest,
      stop: this.#stop,
      attempt: new Attempt(deps, purchaseRequest, { stop: this.#stop, cut: control.cut }, this.#stats),
      budget: new PurchaseBudget(this.#waits, this.#stop, gate),
      stats: this.#stats,
      waits: this.#waits,
      spawn: (units) => this.#spawn(units),
      refuse: (unit, error) => this.#refuse(unit, error),
      acceptsNone: () => this.#acceptsNone,
      giveUp: (units) => this.#giveUp(units),
      record: (unit, tag, message) => this.#record([unit], tag, null, message),
    };
  }

  async toEnd(): Promise<Receipt> {
    const ticker = setInterval(() => void this.#tick(), TICK_MS);
    try {
      await this.#claimAll();
    } catch (error) {
      if (!this.#stop.aborted) this.#fail(error);
    } finally {
      while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
      clearInterval(ticker);
    }
    if (this.#fatal) throw this.#fatal;
    const refusal = this.#commonRefusal;
    if (refusal !== null && !(await this.#wasAccepted())) throw this.#allRefused(refusal);
    // If a purchase was cancelled before any success, its refusals may come from another service, so they are not recorded.
    if (!this.#isCancelled || !this.#acceptsNone || (await this.#wasAccepted())) await this.#recordRefusals();
    const { landed, requests, bought, failed, costMicros, unknownOutcomes, leftRunning } = this.#stats;
    return {
      complete: landed === this.#byKey.size,
      requests,
      bought,
      failed,
      costMicros,
      unknownOutcomes,
      leftRunning,
      waitMs: this.#waitMs,
      waitingFor: this.#waitingFor,
    };
  }

  /**
   * Claims units and buys the claimed units. Waits for units that other attempts are buying, and then claims those units again, until no
   * unit is left.
   */
  async #claimAll(): Promise<void> {
    let keys: readonly string[] = [...this.#byKey.keys()];
    const { journal } = this.#deps;
    const { owner, freshness, unitsPerRequest, longRunning } = this.#purchaseRequest;
    // A purchase that starts nothing leaves runs of live attempts to those attempts. The purchase waits only for `yieldAfterMs`, because a
    // dead attempt is detected within that time.
    const patience = longRunning?.startsNothing ? AbortSignal.timeout(this.#control.yieldAfterMs) : null;
    while (keys.length > 0) {
      this.#stop.throwIfAborted();
      const claim = await journal.claim(keys, owner, freshness);
      this.#stats.landed += claim.landed.length;
      // Earlier requests for these units got no answer, so calls are sent one at a time until one call succeeds.
      const { health } = this.#deps;
      if (health.successes === 0 && claim.mine.some(({ unknowns }) => unknowns > 0)) health.suspect();
      const lost: Unit[] = [];
      const buyable: Unit[] = [];
      for (const claimed of await this.#withoutKnown(claim.mine)) {
        const unit = this.#byKey.get(claimed.key) as Unit;
        this.#stats.unknowns.set(claimed.key, claimed.unknowns);
        if (longRunning && (claimed.started || claimed.lost || !hopeless(this.#shared, unit.key)))
          this.#run(new LongRunningUnit(this.#shared, longRunning, unit, claimed));
        else (hopeless(this.#shared, unit.key) ? lost : buyable).push(unit);
      }
      if (lost.length > 0) await this.#giveUp(lost);
      for (let from = 0; from < buyable.length; from += unitsPerRequest)
        this.#spawn(buyable.slice(from, from + unitsPerRequest));
      if (claim.theirs.length > 0 && !(await this.#waitForOthers(claim.theirs, patience))) break;
      keys = claim.theirs;
    }
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Records answers that are known elsewhere and that the journal lacks; returns the units that are left to buy. */
  async #withoutKnown(mine: readonly Claimed[]): Promise<readonly Claimed[]> {
    const { owner, segment, operation, known } = this.#purchaseRequest;
    if (!known || mine.length === 0) return mine;
    const answers = await known(mine.filter(({ started }) => !started).map(({ key }) => key));
    const requests = new Map<string, KnownAnswer[]>();
    for (const answer of answers) {
      const request = `${answer.requestId} ${answer.fetchedAt}`;
      requests.set(request, [...(requests.get(request) ?? []), answer]);
    }
    for (const batch of requests.values()) {
      const outcomes = batch.map(({ outcome }) => outcome);
      await this.#deps.journal.recordOutcomes(owner, segment, operation, outcomes, batch[0]);
      this.#stats.landed += outcomes.length;
    }
    const adopted = new Set(answers.map(({ outcome }) => outcome.key));
    return mine.filter(({ key }) => !adopted.has(key));
  }

  /** Waits for units that another attempt is buying. Returns false if the wait takes longer than `patience`. */
  async #waitForOthers(theirs: readonly string[], patience: AbortSignal | null): Promise<boolean> {
    try {
      await this.#deps.journal.waitForAny(theirs, patience ? AbortSignal.any([this.#stop, patience]) : this.#stop);
      return true;
    } catch (error) {
      if (this.#stop.aborted || !patience?.aborted) throw error;
      return false;
    }
  }

  #spawn(units: readonly Unit[]): void {
    this.#run(new Request(this.#shared, units));
  }

  #run(work: { toEnd(): Promise<void> }): void {
    const task: Promise<void> = work
      .toEnd()
      .catch((error: unknown) => {
        if (!this.#stop.aborted) this.#fail(error);
      })
      .finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Records the first failure that no retry helps, and stops sending. */
  #fail(error: unknown): void {
    this.#fatal ??= error;
    this.#aborted.abort(error);
  }

  /**
   * Collects a refused unit. Throws if the service has accepted no request and refuses the first units with the same sentence. Then the
   * part that all units share is the cause, and the service would refuse the other units, too.
   */
  async #refuse(unit: Unit, error: ApiError): Promise<void> {
    this.#refusals.push({ unit, error });
    if (this.#refusals.length < REFUSALS_TO_FAIL || !this.#acceptsNone) return;
    if (this.#refusals.some((one) => sentenceOf(one.error) !== sentenceOf(error))) return;
    if (!(await this.#wasAccepted()) && this.#acceptsNone) throw this.#allRefused(error);
  }

  /** Whether the service has not accepted any request for these units. */
  get #acceptsNone(): boolean {
    const { landed, requests, running } = this.#stats;
    return landed === 0 && requests === 0 && running === 0;
  }

  /**
   * Whether requests of this kind count as right: the service accepted such a request before, or a person accepts that the service refuses
   * all units.
   */
  async #wasAccepted(): Promise<boolean> {
    const { accepted, recordsAll = false } = this.#purchaseRequest;
    this.#accepted ||= recordsAll || ((await accepted?.()) ?? false);
    return this.#accepted;
  }

  get #isCancelled(): boolean {
    const { stop, timeUp } = this.#control;
    return stop.aborted && !timeUp?.aborted;
  }

  /**
   * The first refusal, if all units were refused with the same status and tag. If the time is up, only the units that were sent count. Null
   * if there is no such refusal.
   */
  get #commonRefusal(): ApiError | null {
    const [first] = this.#refusals;
    const all = this.#refusals.length === this.#byKey.size || (this.#stop.aborted && !this.#isCancelled);
    if (!first || !all || this.#refusals.length < REFUSALS_TO_FAIL || !this.#acceptsNone) return null;
    const { status, tag } = first.error.facts;
    const isCommon = this.#refusals.every(({ error: { facts } }) => facts.status === status && facts.tag === tag);
    return isCommon ? first.error : null;
  }

  #allRefused(error: ApiError): AllRefused {
    return new AllRefused(error, this.#refusals.length);
  }

  async #recordRefusals(): Promise<void> {
    for (const { unit, error } of this.#refusals) {
      await this.#record([unit], error.facts.tag ?? 'INVALID_REQUEST', error.facts.status, error.message);
    }
  }

  async #giveUp(units: readonly Unit[]): Promise<void> {
    await this.#record(units, 'UNKNOWN_OUTCOME', null, lostTooOften(this.#purchaseRequest));
  }

  async #record(units: readonly Unit[], tag: string, httpStatus: number | null, message: string): Promise<void> {
    const { owner, segment, operation } = this.#purchaseRequest;
    const outcomes = units.map((unit) => ({
      ...failed(unit, tag, httpStatus),
      result: { error: message },
      costMicros: 0,
    }));
    await this.#deps.journal.recordOutcomes(owner, segment, operation, outcomes);
    this.#stats.landed += units.length;
    this.#stats.failed += units.length;
  }

  /** Reports progress. If all remaining requests wait for a long time, ends the purchase, so that Temporal waits instead. */
  async #tick(): Promise<void> {
    const { blockedUntil, blockReason, heldBy = null } = await this.#deps.limiter.view();
    const blockMs = blockedUntil === null ? 0 : blockedUntil - Date.now();
    let hold = Math.max(blockMs, this.#deps.health.holdMs);
    let why = blockMs > 0 ? blockReason : hold > 0 ? 'the service to recover' : null;
    const first = this.#waits.first;
    // A wait for another purchase of the job has no known end.
    const known = first !== null && Number.isFinite(first.until);
    if (hold === 0 && known && this.#waits.size === this.#tasks.size) {
      hold = first.until - performance.now();
      why = first.why;
    }
    const { landed, failed, costMicros, sending, running } = this.#stats;
    const now = Date.now();
    const slot = this.#stats.slotWait(this.#purchaseRequest.longRunning?.slots.listedSince ?? null, now);
    const other = heldBy ?? this.#shared.budget.waitingFor ?? slot ?? this.#stats.longWait(now);
    const waitingFor = hold > 0 ? why : other;
    this.#control.progress?.({ landed, failed, costMicros, running, waitingFor });
    if (hold > this.#control.yieldAfterMs && sending === 0 && !this.#stop.aborted) {
      this.#waitMs = hold;
      this.#waitingFor = why;
      this.#aborted.abort(new Error('yielded'));
    }
  }
}
