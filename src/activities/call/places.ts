import { setTimeout as delay } from 'node:timers/promises';
import type { Grant, Limiter, RateCost } from '../../core/limiter/limiter.js';
import { waiting } from './failure.js';

/** Waits of a single call above this length, in ms, are left to Temporal. */
export const CALL_YIELDS_AFTER_MS = 5000;
/** A call that waits in Temporal comes back this long before its turn, in ms. */
const EARLY_MS = 1000;
/** Time in ms between looks at a wait. */
const LOOK_MS = 1000;
/** Time in ms after its turn for which the place of a call that does not come back is kept. */
const KEPT_MS = 60_000;

/** The place of a call in the queue of the rate limit. */
interface Place {
  readonly kind: string;
  readonly grant: Promise<Grant>;
  readonly leave: AbortController;
  isGranted: boolean;
}

/** A call that waits here, and takes the turn of a call that does not come back. */
interface Waiter {
  readonly place: Place;
  take(grant: Grant): void;
}

/** Who waits: an id that is the same in all attempts of a call, and whether an earlier attempt may have left a place. */
export interface Caller {
  readonly id: string;
  readonly isRetry: boolean;
}

/**
 * Turns for calls that must not hold a slot of their worker for long. A call whose turn is far rejects with `Waiting`, with the time until
 * shortly before its turn. Its place in the queue stays for its next attempt, so that it waits once. If that attempt runs in another process or
 * never comes, a call that waits here takes the turn.
 */
export class Places {
  readonly #limiter: Limiter;
  /** The places that have no turn yet, in the order of the queue. */
  readonly #waiting = new Set<Place>();
  /** The places whose calls wait in Temporal, by the id of the call. */
  readonly #kept = new Map<string, Place>();
  readonly #waiters = new Set<Waiter>();

  constructor(limiter: Limiter) {
    this.#limiter = limiter;
  }

  /** Waits for a turn. Rejects with the reason of the signal when aborted; `keeps` then says whether the call comes back. */
  async turn(rateCost: RateCost, caller: Caller, signal: AbortSignal, keeps: () => boolean): Promise<Grant> {
    signal.throwIfAborted();
    const place = this.#keptBy(rateCost, caller) ?? this.#enter(rateCost);
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    let waiter: Waiter | null = null;
    const left = new Promise<Grant>((take) => {
      waiter = { place, take };
      this.#waiters.add(waiter);
    });
    try {
      const grant = await Promise.race([place.grant, left, this.#whileNear(place, rateCost, caller, until)]);
      // After a turn of another call, this place is not needed.
      if (!place.isGranted) place.leave.abort(new Error('it took another turn'));
      else if (grant !== (await place.grant)) this.#keep(caller.id, place);
      return grant;
    } catch (error) {
      if (signal.aborted ? keeps() : isWaiting(error)) this.#keep(caller.id, place);
      else place.leave.abort(error);
      throw signal.aborted ? signal.reason : error;
    } finally {
      over.abort();
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  /** Rejects as soon as the turn of the place is far. */
  async #whileNear(place: Place, rateCost: RateCost, { isRetry }: Caller, signal: AbortSignal): Promise<never> {
    for (;;) {
      const { blockedUntil, blockReason, effectiveQps, waiting: all } = await this.#limiter.view(rateCost);
      const waitingHere = [...this.#waiting];
      const absent = new Set(isRetry ? this.#kept.values() : []);
      // A call that comes back has waited, and takes the turn of one that does not.
      const ofKind = waitingHere.filter((one) => one.kind === place.kind && !absent.has(one));
      const elsewhere = Math.max(0, all - waitingHere.length);
      const ahead = ofKind.indexOf(place) + elsewhere;
      const blockMs = Math.max(0, (blockedUntil ?? 0) - Date.now());
      const queueMs = effectiveQps > 0 ? (1000 * ahead * rateCost.weight) / effectiveQps : 0;
      if (!place.isGranted && blockMs + queueMs > CALL_YIELDS_AFTER_MS)
        throw waiting(blockMs + Math.max(0, queueMs - EARLY_MS), blockMs > 0 ? blockReason : 'rate limit');
      await delay(LOOK_MS, undefined, { signal });
    }
  }

  #enter(rateCost: RateCost): Place {
    const leave = new AbortController();
    const place: Place = {
      kind: `${rateCost.rateClass}/${rateCost.weight}`,
      grant: this.#limiter.acquire(rateCost, leave.signal),
      leave,
      isGranted: false,
    };
    this.#waiting.add(place);
    const granted = () => {
      place.isGranted = true;
      this.#waiting.delete(place);
    };
    place.grant.then(granted, () => this.#waiting.delete(place));
    return place;
  }

  #keep(id: string, place: Place): void {
    this.#kept.set(id, place);
    const drop = () => {
      if (this.#kept.get(id) === place) this.#kept.delete(id);
    };
    const handOver = (grant: Grant) => {
      if (this.#kept.get(id) !== place) return;
      const waiter = [...this.#waiters].find((one) => one.place.kind === place.kind && !one.place.isGranted);
      if (!waiter) return void setTimeout(drop, KEPT_MS).unref();
      drop();
      this.#waiters.delete(waiter);
      waiter.take(grant);
    };
    place.grant.then(handOver, drop);
  }

  /** Takes out the place of a call, or one whose turn has come and whose call has not. */
  #keptBy({ rateClass, weight }: RateCost, { id, isRetry }: Caller): Place | null {
    const kind = `${rateClass}/${weight}`;
    const own = this.#kept.get(id);
    const found: readonly [string, Place] | undefined = own
      ? [id, own]
      : isRetry
        ? [...this.#kept].find(([, place]) => place.isGranted && place.kind === kind)
        : undefined;
    if (!found || found[1].kind !== kind) return null;
    this.#kept.delete(found[0]);
    return found[1];
  }
}

const isWaiting = (error: unknown): boolean => (error as { readonly type?: unknown }).type === 'Waiting';
