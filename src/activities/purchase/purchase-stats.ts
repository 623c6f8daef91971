import type { UnitStatus } from '../../core/purchase/journal.js';
import {
  costMultiple,
  FIRST_ANSWERS,
  FIRST_REQUESTS,
  OverBudget,
  observedMultiple,
  type Price,
  reservedMicros,
} from '../../core/purchase/spend.js';

/** Whoever waits for longer wants to know for what. */
const LONG_MS = 6000;

/** Those among things that began at these moments (Unix ms) that take long, in words; null where none does. */
export function longWaitFor(begun: readonly { readonly at: number }[], what: string, now: number): string | null {
  const long = begun.map(({ at }) => now - at).filter((ms) => ms >= LONG_MS);
  const seconds = Math.round(Math.max(0, ...long) / 1000);
  return long.length === 0 ? null : `waiting ${seconds} s for ${long.length} ${what}${long.length === 1 ? '' : 's'}`;
}

/** What a purchase has come to so far. */
export class PurchaseStats {
  /** Units that ended, by this purchase or before it. */
  landed = 0;
  requests = 0;
  bought = 0;
  failed = 0;
  costMicros = 0;
  unknownOutcomes = 0;
  /** Requests in flight, what they take from the budget, and what those take whose outcome is unknown. */
  open = 0;
  openMicros = 0;
  unknownMicros = 0;
  /** Units that run at the service and are followed, with the moments at which they began, in Unix ms. */
  readonly runs = new Set<{ readonly at: number }>();
  /** Runs that were no longer followed though they had not ended. */
  leftRunning = 0;
  /** Units that wait for a place to run in. */
  queueing = 0;
  /** Requests that were sent and have no answer on disk yet, with the moments at which they were, in Unix ms. */
  readonly requestsSent = new Set<{ readonly at: number }>();
  /** How often each unit's outcome is unknown. */
  readonly unknowns = new Map<string, number>();

  /** What answers of this purchase cost, as multiples of their list price. */
  readonly #multiples: number[] = [];

  get running(): number {
    return this.runs.size;
  }

  get sending(): number {
    return this.requestsSent.size;
  }

  /** What takes long among requests and runs, in words; null where nothing does. */
  longWait(now: number): string | null {
    return longWaitFor([...this.requestsSent], 'request', now) ?? longWaitFor([...this.runs], 'run', now);
  }

  /**
   * What a request takes from what this purchase alone may cost, by the rule that the journal has for caps; or the refusal of what would
   * pass it.
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

  /** A request is in flight that takes so much from the budget. */
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

  unknownsOf(key: string): number {
    return this.unknowns.get(key) ?? 0;
  }
}
