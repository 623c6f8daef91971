import { setTimeout as delay } from 'node:timers/promises';
import type { SlotsInUse } from '../../core/limiter/slots.js';
import type { Claimed, UnitStatus } from '../../core/purchase/journal.js';
import {
  costMultiple,
  FIRST_ANSWERS,
  FIRST_REQUESTS,
  OverBudget,
  observedMultiple,
  type Price,
  reservedMicros,
} from '../../core/purchase/spend.js';
import type { RunSlots } from './purchase-request.js';

const LIST = 'the list of runs';
const NO_SLOT = "a free slot: the team's limit of concurrent runs is reached";

/** Waits of at least this length, in ms, are reported. */
const LONG_MS = 6000;

/** Something that takes time. `at`: its start, in Unix ms. */
interface Begun {
  readonly at: number;
}

/** Describes the long waits in `begun`; null if no wait is long. `what`: a noun to count, or with `isOne` the name of one thing. */
export function longWaitFor(begun: readonly Begun[], what: string, now: number, isOne = false): string | null {
  const long = begun.map(({ at }) => now - at).filter((ms) => ms >= LONG_MS);
  if (long.length === 0) return null;
  const things = isOne ? what : `${long.length} ${what}${long.length === 1 ? '' : 's'}`;
  return `waiting ${Math.round(Math.max(...long) / 1000)} s for ${things}`;
}

/** Describes the slots that no purchase of this store holds or follows; '' if there are none or the slots are unknown. */
function holdersText({ leftRunning, elsewhere, limit }: SlotsInUse): string {
  const held = [
    ...(leftRunning > 0 ? [`${leftRunning} of ${limit} slots held by runs left running past --max-run-time`] : []),
    ...(elsewhere > 0 ? [`${elsewhere} of ${limit} slots held by runs started elsewhere`] : []),
  ];
  if (held.length === 0) return '';
  const how = 'Wait until such runs end, or end some: searchflow agent cancel ID (ids: searchflow agent list)';
  return `; ${held.join(', ')}. ${how}`;
}

export async function whileIn<M, T>(all: Set<M>, member: M, work: () => Promise<T>): Promise<T> {
  all.add(member);
  try {
    return await work();
  } finally {
    all.delete(member);
  }
}

/** A wait: its end by `performance.now()` and its reason. An unknown end is infinite. */
export interface Wait {
  readonly until: number;
  readonly why: string;
}

/** The waits of a purchase, with their ends and reasons. The progress shows the waits. The list also shows whether all requests wait. */
export class Waits {
  readonly #marks = new Set<Wait>();

  get size(): number {
    return this.#marks.size;
  }

  /** The wait that ends first. */
  get first(): Wait | null {
    return [...this.#marks].reduce<Wait | null>((a, b) => (a !== null && a.until <= b.until ? a : b), null);
  }

  /** Waits for `ms`. Rejects with the signal's reason when aborted. */
  async sleep(ms: number, why: string, signal: AbortSignal): Promise<void> {
    await this.during(delay(ms, undefined, { signal }), why, performance.now() + ms);
  }

  /**
   * Awaits the promise, and lists this wait until the promise settles. `until`: the expected end of the wait by `performance.now()`;
   * infinite if unknown.
   */
  during<T>(promise: Promise<T>, why: string, until = Number.POSITIVE_INFINITY): Promise<T> {
    return whileIn(this.#marks, { until, why }, () => promise);
  }
}

/** The counts, costs and waits of a purchase so far. */
export class PurchaseStats {
  /** Number of units that have ended, in this purchase or before it. */
  landed = 0;
  requests = 0;
  bought = 0;
  failed = 0;
  costMicros = 0;
  /** The part of `costMicros` that counted under the caps of earlier runs of the job. */
  earlierMicros = 0;
  unknownOutcomes = 0;
  /**
   * `open`: number of requests in flight; `openMicros`: their reserved amount. `unknownMicros`: amount of unknown outcomes. Amounts in
   * micro-dollars.
   */
  open = 0;
  openMicros = 0;
  unknownMicros = 0;
  /** Time in ms that the write of an intent took at most; it fades with each further write. */
  intendMs = 0;
  /** Number of runs that are no longer followed although they have not ended. */
  leftRunning = 0;
  /** Runs that are followed, since the start of the run. */
  readonly runs = new Set<Begun>();
  /** Requests that were sent and whose answers are not on the disk yet. */
  readonly requestsSent = new Set<Begun>();
  /** Reads of the service's list of runs. */
  readonly lists = new Set<Begun>();
  readonly slotWaits = new Set<Begun>();
  /** Requests that wait for the budget, or until an earlier request has got its part of the budget. */
  readonly budgetWaits = new Set<Begun>();
  readonly waits = new Waits();
  /** The number of unknown outcomes of each unit. */
  readonly unknowns = new Map<string, number>();
  /** The unknown outcomes of earlier attempts of a call, by their latest intent. */
  readonly #earlier = new Map<string, number>();

  /** Costs of this purchase's answers, as multiples of their list price. */
  readonly #multiples: number[] = [];

  /** Whether the service has not accepted any request for these units. */
  get acceptsNone(): boolean {
    return this.landed === 0 && this.requests === 0 && this.runs.size === 0;
  }

  /** Describes a long wait for requests, for the list of runs, or for runs; null if there is none. */
  longWait(now: number): string | null {
    return (
      longWaitFor([...this.requestsSent], 'request', now) ??
      longWaitFor([...this.lists], LIST, now, true) ??
      longWaitFor([...this.runs], 'run', now)
    );
  }

  /** Runs `work`, and counts it in `counted` until it ends. */
  during<T>(counted: Set<Begun>, work: () => Promise<T>): Promise<T> {
    return whileIn(counted, { at: Date.now() }, work);
  }

  /** Describes why units wait for a slot; null if no unit waits. */
  slotWait({ listedSince = null, inUse = null }: Pick<RunSlots, 'listedSince' | 'inUse'>, now: number): string | null {
    if (this.slotWaits.size === 0) return null;
    return listedSince === null
      ? `${NO_SLOT}${inUse === null ? '' : holdersText(inUse)}`
      : longWaitFor([{ at: listedSince }], LIST, now, true);
  }

  /**
   * Reserves a request under the cap of this purchase, by the journal's rule for caps. Returns the reserved micro-dollars, or the refusal
   * of a request that would exceed the cap.
   */
  reserve(mostMicros: number | undefined, price: Price): number | OverBudget {
    if (mostMicros === undefined) return price.estimateMicros;
    const multiple = observedMultiple(this.#multiples);
    const micros = reservedMicros(price, multiple);
    const left = Math.max(0, mostMicros - this.costMicros - this.openMicros - this.unknownMicros);
    const over = micros > left;
    if (!over && (this.#multiples.length >= FIRST_ANSWERS || this.open < FIRST_REQUESTS)) return micros;
    return new OverBudget('call', mostMicros, left, this.openMicros, null, { multiple, unproven: !over });
  }

  /** Counts a request in flight with its reserved amount. */
  opened(micros: number): void {
    this.open++;
    this.openMicros += micros;
  }

  closed(micros: number): void {
    this.open--;
    this.openMicros -= micros;
  }

  learn(listMicros: number, costMicros: number, units: readonly { readonly status: UnitStatus }[]): void {
    const charged = units.filter(({ status }) => status === 'success').length;
    const multiple = costMultiple(listMicros, { costMicros, units: units.length, charged });
    if (multiple !== null) this.#multiples.push(multiple);
  }

  /** Counts the unknown outcomes of a unit, if its latest one belongs to the call that was made at `since` (Unix ms). */
  lostSince(since = Number.POSITIVE_INFINITY, { lost, unknowns }: Pick<Claimed, 'lost' | 'unknowns'>): void {
    if (!lost || lost.at < since) return;
    this.#earlier.set(lost.intentId, Math.max(unknowns, this.#earlier.get(lost.intentId) ?? 0));
  }

  /** Number of unknown outcomes of earlier attempts of the call. */
  get earlierUnknowns(): number {
    return [...this.#earlier.values()].reduce((sum, count) => sum + count, 0);
  }

  unknownsOf(key: string): number {
    return this.unknowns.get(key) ?? 0;
  }
}
