import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../api/errors.js';
import { backoffMs } from '../core/backoff.js';
import type { Journal, UnitOutcome } from '../core/journal.js';
import type { Grant, Limiter } from '../core/limiter.js';
import { splitMicros } from '../core/money.js';
import { GRANT_AHEAD_MS } from '../core/rate.js';
import { OverBudget } from '../core/spend.js';
import { isApiError } from './failure.js';
import type { Halt } from './halt.js';
import type { InFlight } from './in-flight.js';
import type { Bought, Control, Order, Unit } from './order.js';
import type { ServiceHealth } from './service-health.js';
import type { Tally } from './tally.js';

export interface PurchaseDeps {
  readonly journal: Journal;
  readonly limiter: Limiter;
  readonly inFlight: InFlight;
  readonly health: ServiceHealth;
  readonly halt: Halt;
  readonly random?: () => number;
}

/** An intent that is open. */
interface Asked {
  readonly id: string;
  readonly estimateMicros: number;
}

/** How an attempt ended. `blocked`: held back before it was sent. An error of the service is for the caller to weigh. */
export type AttemptEnd = 'landed' | 'blocked' | ApiError | OverBudget;

/** Makes single attempts at requests of one order: a place, a turn, the intent, the call, and what came of it on disk. */
export class Attempt {
  readonly #deps: PurchaseDeps;
  readonly #order: Order;
  readonly #control: Pick<Control, 'stop' | 'cut'>;
  readonly #tally: Tally;

  constructor(deps: PurchaseDeps, order: Order, control: Pick<Control, 'stop' | 'cut'>, tally: Tally) {
    this.#deps = deps;
    this.#order = order;
    this.#control = control;
    this.#tally = tally;
  }

  /** One attempt; `granted` is told when the money is taken. Failures that are not the service's (journal, limiter) are thrown. */
  async at(batch: readonly Unit[], granted: () => void): Promise<AttemptEnd> {
    const { inFlight, health } = this.#deps;
    await inFlight.enter(this.#control.stop);
    try {
      const pass = await health.pass(this.#control.stop);
      let said: 'succeeded' | 'failed' | 'undecided' = 'undecided';
      try {
        return await this.#inTurn(batch, granted, (how) => {
          said = how;
        });
      } finally {
        health[said](pass);
      }
    } finally {
      inFlight.leave();
    }
  }

  async #inTurn(
    batch: readonly Unit[],
    granted: () => void,
    say: (how: 'succeeded' | 'failed') => void,
  ): Promise<AttemptEnd> {
    const { limiter, inFlight } = this.#deps;
    const grant = await limiter.acquire(this.#order.draw, this.#control.stop);
    const asked = await this.#intend(batch);
    if (asked instanceof OverBudget) return asked;
    granted();
    if (!(await this.#start(grant, asked))) return 'blocked';
    this.#tally.sending++;
    inFlight.sent++;
    try {
      const bought = await this.#order.send(batch, this.#control.cut);
      say('succeeded');
      if (bought.queued) limiter.queued(this.#order.draw);
      await this.#land(asked, bought);
      return 'landed';
    } catch (error) {
      if (!isApiError(error)) throw error;
      if (error.verdict.type === 'ServiceUnavailable' && !this.#control.cut.aborted) say('failed');
      return await this.#missed(asked, batch, error);
    } finally {
      this.#tally.sending--;
      inFlight.sent--;
    }
  }

  async #intend(batch: readonly Unit[]): Promise<Asked | OverBudget> {
    const { journal, halt } = this.#deps;
    const { owner, book, operation, timeoutMs, cap, mostMicros, resumedAt } = this.#order;
    halt.check(resumedAt);
    const estimateMicros = this.#order.estimateMicros(batch);
    const over = this.#tally.over(mostMicros, estimateMicros);
    if (over) return over;
    this.#tally.openMicros += estimateMicros;
    try {
      const id = await journal.intend({
        owner,
        book,
        operation,
        keys: batch.map((unit) => unit.key),
        estimateMicros,
        deadline: Date.now() + GRANT_AHEAD_MS + timeoutMs,
        ...(cap ? { cap } : {}),
      });
      return { id, estimateMicros };
    } catch (error) {
      this.#tally.openMicros -= estimateMicros;
      if (error instanceof OverBudget) return error;
      throw error;
    }
  }

  /** Closes an intent without an answer. */
  async #miss({ id, estimateMicros }: Asked, reason: string, charged: 'never' | 'maybe'): Promise<void> {
    await this.#deps.journal.miss(id, reason, charged);
    this.#tally.openMicros -= estimateMicros;
    if (charged === 'never') return;
    this.#tally.unknownOutcomes++;
    this.#tally.unknownMicros += estimateMicros;
  }

  /** Waits for the grant's moment; false, and the intent taken back, where a block began meanwhile. */
  async #start(grant: Grant, asked: Asked): Promise<boolean> {
    const { limiter, halt } = this.#deps;
    let go: boolean;
    try {
      go = (await limiter.start(grant, this.#control.stop)) === 'go';
      halt.check(this.#order.resumedAt);
    } catch (error) {
      await this.#miss(asked, 'stopped before it was sent', 'never');
      throw error;
    }
    if (!go) await this.#miss(asked, 'held back before it was sent', 'never');
    return go;
  }

  async #land({ id, estimateMicros }: Asked, bought: Bought): Promise<void> {
    const total = bought.costMicros ?? estimateMicros;
    const charged = bought.units.filter((unit) => unit.status === 'success').length;
    // What failed is taken as free, unless nothing succeeded and money was asked all the same.
    const shares = splitMicros(total, charged > 0 ? charged : bought.units.length);
    let share = 0;
    const units = bought.units.map((unit): UnitOutcome => {
      const costMicros = charged === 0 || unit.status === 'success' ? (shares[share++] ?? 0) : 0;
      return { ...unit, costMicros };
    });
    await persist(() => this.#deps.journal.land(id, { requestId: bought.requestId, fetchedAt: Date.now(), units }));
    const tally = this.#tally;
    tally.requests++;
    tally.bought += units.length;
    tally.failed += units.length - charged;
    tally.landed += units.length;
    tally.openMicros -= estimateMicros;
    tally.costMicros += total;
  }

  /** Writes a failed call down. An answer that nobody can read was paid for: it lands as it is. */
  async #missed(asked: Asked, batch: readonly Unit[], error: ApiError): Promise<AttemptEnd> {
    const { verdict } = error;
    if (verdict.type === 'ResponseShape') {
      await this.#land(asked, {
        requestId: error.requestId,
        costMicros: null,
        units: batch.map((unit, index) => ({
          ...failed(unit, 'RESPONSE_SHAPE', error.facts.status),
          result: index === 0 ? { body: error.body ?? null } : null,
        })),
      });
      return 'landed';
    }
    await this.#miss(asked, error.message, verdict.charged);
    if (verdict.charged === 'maybe') {
      for (const { key } of batch) this.#tally.unknowns.set(key, this.#tally.unknownsOf(key) + 1);
    }
    return error;
  }
}

/** A unit that ended without a result. */
export function failed(unit: Unit, tag: string, httpStatus: number | null): Omit<UnitOutcome, 'costMicros'> {
  return { ...unit, status: 'error', errorTag: tag, httpStatus, source: null, result: null };
}

/** An answer in hand must reach the disk: a full one is waited for a while before the answer is given up. */
async function persist(write: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (attempt >= 5) throw error;
      await delay(backoffMs(attempt, 200, 5000, 0.5));
    }
  }
}
