import { setTimeout as delay } from 'node:timers/promises';
import { costInBody } from '../../api/schemas/result.js';
import type { ApiError } from '../../api/wire/errors.js';
import type { Grant } from '../../core/limiter/limiter.js';
import { ownReasons } from '../../core/purchase/attempts.js';
import { jobOf } from '../../core/purchase/journal.js';
import { OverBudget } from '../../core/purchase/spend.js';
import { isApiError } from '../call/failure.js';
import type { AnswerPlace } from '../call/in-flight.js';
import { CALL_YIELDS_AFTER_MS } from '../call/places.js';
import type { RequestBudget } from './budget-gate.js';
import {
  type Batch,
  failed,
  intend,
  land,
  miss,
  note,
  type OpenIntent,
  type PurchaseContext,
} from './journal-writes.js';
import type { Bought, RunFacts, Unit } from './purchase-request.js';

/** A start that was answered: its run is noted and in progress. */
export interface Running {
  readonly type: 'running';
  readonly intent: OpenIntent;
  readonly facts: RunFacts;
}

/** A start without an answer. The run that the start may have created is searched for. */
export interface LostStart {
  readonly type: 'lostStart';
  readonly intent: OpenIntent;
  readonly error: ApiError;
}

/** How an attempt ended. Not sent: a block (`blocked`) or answers with nothing usable (`held`) held the request back. */
export type Outcome =
  | { readonly type: 'landed' }
  | { readonly type: 'blocked' }
  | { readonly type: 'held' }
  | { readonly type: 'overBudget'; readonly over: OverBudget }
  | { readonly type: 'failed'; readonly error: ApiError }
  | Running
  | LostStart;

/**
 * Least time in ms from the write of an intent to the start of its request, and the least multiple of the time that such a write takes. A kill
 * within this time makes an unknown outcome of a request that was not sent, and a later write would delay the start. `together`: intents of
 * starts within so many ms are written at once, because each write waits for the disk.
 */
const INTEND_AHEAD = { ms: 30, writes: 2, together: 100 } as const;

/** Identifies a run of this purchase at the service, by the unit's key and the intent's id. */
export const tagOf = (unit: Unit, intentId: string): string => `${unit.key}/${intentId}`;

/**
 * Makes one attempt at a request: claim, budget, turn, intent, send, land. Nothing is sent without a claim, a budget, a turn and a durable
 * intent. The attempt returns only after its answer, or the record that no answer came, is durable. The caller decides what follows. Throws
 * local failures, such as those of journal and limiter.
 */
export async function attempt(
  context: PurchaseContext,
  claimed: Batch,
  budget: Pick<RequestBudget, 'enter' | 'granted'>,
): Promise<Outcome> {
  // Claim: the purchase has claimed these units, so no other attempt buys them. A lost claim is detected in the write of the intent.
  // Budget: while the budget is short, one request of the job at a time continues, so that waiting requests do not use up the rate.
  await budget.enter();
  const turn = new Turn(context, claimed);
  try {
    // Turn: it comes before the intent, so that a request that waits for its turn reserves no money.
    const grant = await turn.take();
    if (context.failures?.gate.take(claimed.units) === false) return { type: 'held' };

    // Intent: one durable write checks all caps and records the request.
    const intent = await intend(context, claimed);
    if (intent instanceof OverBudget) return { type: 'overBudget', over: intent };
    budget.granted();
    if (!(await mayStart(context, grant, intent))) return { type: 'blocked' };

    // Send: from here on the service may charge for the request, whether an answer comes or not.
    turn.answer = await send(context, claimed, intent, turn.use());

    // Land: a landed unit is never bought again; an answer that did not come is recorded as an unknown outcome.
    turn.outcome = await recordAnswer(context, claimed, intent, turn.answer);
    return turn.outcome;
  } finally {
    await turn.end();
  }
}

type Answer = Bought | (RunFacts & Pick<Bought, 'queued' | 'warnings'>) | ApiError;

/** The permissions of one attempt: a slot for a run, a permit of this process, a pass of the circuit breaker and a turn of the rate. */
class Turn {
  answer: Answer | null = null;
  outcome: Outcome | null = null;
  readonly #context: PurchaseContext;
  readonly #key: string;
  #slot = false;
  #permitAt: number | null = null;
  #pass: 'well' | 'try' | null = null;
  #sent: { readonly at: number } | null = null;
  #place: AnswerPlace | null = null;

  constructor(context: PurchaseContext, { units: [first] }: Batch) {
    this.#context = context;
    this.#key = (first as Unit).key;
  }

  async take(): Promise<Grant> {
    const { purchaseRequest, inFlight, health, limiter, accountBreaker, stats, stop } = this.#context;
    const { sendsOnce } = purchaseRequest;
    // The turn comes first: while it is far, the request holds no permit.
    const own = sendsOnce ? await sendsOnce(stop) : null;
    const slots = purchaseRequest.longRunning?.slots;
    if (slots) {
      await stats.during(stats.slotWaits, () => slots.take(this.#key, stop));
      this.#slot = true;
    }
    const isInTime = sendsOnce
      ? await inFlight.enterSoon(stop, CALL_YIELDS_AFTER_MS)
      : await inFlight.enter(stop, jobOf(purchaseRequest.segment));
    this.#permitAt = performance.now();
    this.#pass = await health.pass(stop);
    // A turn is for now: a request that waited for a permit takes another one.
    const again = () => (sendsOnce ? sendsOnce(stop) : limiter.acquire(purchaseRequest.rateCost, stop));
    const grant = own && isInTime ? own : await again();
    const { ms: least, writes, together } = INTEND_AHEAD;
    const latest = grant.startAt - Math.max(least, writes * stats.intendMs);
    const ms = Math.floor(latest / together) * together - performance.now();
    if (ms > 0) await delay(ms, undefined, { signal: stop });
    accountBreaker.check(purchaseRequest.resumedAt);
    return grant;
  }

  /** Counts the request as sent, until its answer is on the disk. Returns the place for the answer. */
  use(): AnswerPlace {
    const { stats, inFlight } = this.#context;
    this.#sent = { at: Date.now() };
    stats.requestsSent.add(this.#sent);
    inFlight.sent++;
    this.#place = inFlight.place();
    return this.#place;
  }

  /** Gives everything back, and reports to the circuit breaker whether the service answers. */
  async end(): Promise<void> {
    const { purchaseRequest, inFlight, health, stats, cut } = this.#context;
    const { answer, outcome } = this;
    if (this.#sent) {
      stats.requestsSent.delete(this.#sent);
      inFlight.sent--;
    }
    this.#place?.leave();
    if (this.#pass) {
      if (!isApiError(answer)) health[outcome ? 'succeeded' : 'undecided'](this.#pass);
      else if (answer.verdict.type !== 'ServiceUnavailable' || cut.aborted) health.undecided(this.#pass);
      else health.failed(this.#pass, answer.facts.unrecognized);
    }
    if (this.#permitAt !== null) inFlight.leave(performance.now() - this.#permitAt);
    // A slot is kept if the run for it may have been started.
    const runs = outcome ? outcome.type === 'running' || outcome.type === 'lostStart' : this.#sent !== null;
    if (this.#slot && !runs) await purchaseRequest.longRunning?.slots.free(this.#key);
  }
}

/**
 * Waits for the start time of a turn. If a block has begun meanwhile, or the process was suspended for so long that another process may have
 * bought the units, closes the intent and returns false. The next attempt then finds whether the claim was lost.
 */
async function mayStart(context: PurchaseContext, grant: Grant, intent: OpenIntent): Promise<boolean> {
  const { journal, limiter, accountBreaker, purchaseRequest, stop } = context;
  let go: boolean;
  try {
    go = (await limiter.start(grant, stop)) === 'go';
    accountBreaker.check(purchaseRequest.resumedAt);
  } catch (error) {
    await miss(context, intent, ownReasons.stopped, 'never');
    throw error;
  }
  if (Date.now() - intent.at > (journal.sendWithinMs ?? Number.POSITIVE_INFINITY)) go = false;
  if (!go) await miss(context, intent, ownReasons.heldBack, 'never');
  return go;
}

async function send(
  context: PurchaseContext,
  { units, limitMicros }: Batch,
  intent: OpenIntent,
  space: AnswerPlace,
): Promise<Answer> {
  const { purchaseRequest, limiter, cut } = context;
  const { longRunning } = purchaseRequest;
  try {
    const [unit] = units as readonly [Unit];
    const answer = longRunning
      ? await longRunning.start(unit, { tag: tagOf(unit, intent.id), limitMicros }, cut)
      : await purchaseRequest.send(units, { signal: cut, space });
    if (answer.queued) limiter.queued(purchaseRequest.rateCost);
    return answer;
  } catch (error) {
    if (isApiError(error)) return error;
    throw error;
  }
}

/** Writes the answer of a request, or what came instead of an answer. */
async function recordAnswer(
  context: PurchaseContext,
  { units }: Batch,
  intent: OpenIntent,
  answer: Answer,
): Promise<Outcome> {
  const { stats, purchaseRequest } = context;
  if (!isApiError(answer)) {
    if (!('run' in answer)) {
      await land(context, intent, answer);
      return { type: 'landed' };
    }
    const facts = { run: answer.run, requestId: answer.requestId };
    await note(context, intent.id, facts);
    context.failures?.hear(answer.warnings);
    return { type: 'running', intent, facts };
  }
  const { verdict, facts, requestId, message, body } = answer;
  if (purchaseRequest.longRunning && verdict.charged === 'maybe') {
    // After any answer, the start is no longer in flight, so its run is searched for at once.
    const deadline = facts.phase === 'answer' ? Date.now() : intent.deadline;
    return { type: 'lostStart', intent: { ...intent, deadline }, error: answer };
  }
  if (verdict.type === 'ResponseShape') {
    // An unreadable answer was paid for, so its text lands unchanged.
    const outcomes = units.map((unit, index): Bought['units'][number] => ({
      ...failed(unit, 'RESPONSE_SHAPE', facts.status),
      result: index === 0 ? { error: message, body: body ?? null } : { error: message },
    }));
    await land(context, intent, { requestId, costMicros: costInBody(body), nothing: message, units: outcomes });
    return { type: 'landed' };
  }
  await miss(context, intent, message, verdict.charged, answer);
  if (verdict.charged === 'maybe') for (const { key } of units) stats.unknowns.set(key, stats.unknownsOf(key) + 1);
  return { type: 'failed', error: answer };
}
