import type { UsageLine } from './spend.js';

/** The charges of one price on a day, as the service names them. */
export interface BilledPrice {
  readonly id: string;
  readonly name: string;
  readonly quantity: number;
  readonly micros: number;
}

/** The bill of a UTC day over all keys. Amounts in micro-dollars. */
export interface BilledDay {
  /** `2026-11-21`. */
  readonly day: string;
  readonly micros: number;
  /** The most that the bill may differ from the charges because the service gives whole cents; 0: it gives exact amounts. */
  readonly roundedMicros: number;
  readonly prices: readonly BilledPrice[];
  /** The bill by the id of a key. */
  readonly keys: readonly { readonly id: string; readonly name: string | null; readonly micros: number }[];
  /** Keys whose bill contradicts itself: its prices do not add up to its total. Absent: none. */
  readonly contradictions?: readonly { readonly id: string; readonly micros: number; readonly priceMicros: number }[];
}

/** A day of the journal and of the bill. Amounts in micro-dollars; bill − journal = the parts that explain it + `unexplainedMicros`. */
export interface ReconciledDay {
  readonly day: string;
  readonly journalMicros: number;
  readonly billedMicros: number;
  readonly differenceMicros: number;
  /** Number of unknown outcomes of the day, and the most that they and the requests in flight may have cost. */
  readonly unknownOutcomes: number;
  readonly atMostMicros: number;
  /** The part of the difference that unknown outcomes and requests in flight explain. */
  readonly unknownMicros: number;
  /** The part that prices explain which the service has changed since the last day without such a part. */
  readonly priceMicros: number;
  /** The part that is balanced by the day before or after: a request counts here on the day when it was sent. */
  readonly otherDayMicros: number;
  /** The part that comes from a bill in whole cents. */
  readonly roundingMicros: number;
  readonly unexplainedMicros: number;
  readonly prices: readonly BilledPrice[];
  readonly keys: BilledDay['keys'];
}

/** A price that changed between two days of a bill, in micro-dollars for each unit. */
export interface PriceChange {
  readonly day: string;
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

export interface Reconciliation {
  readonly days: readonly ReconciledDay[];
  readonly changes: readonly PriceChange[];
  /** Whether no day has a difference without an explanation. */
  readonly agrees: boolean;
}

/** Compares the days of the journal with the days of the bill, in order of time. Each day of the journal has a bill. */
export function reconcile(journal: readonly UsageLine[], bill: readonly BilledDay[]): Reconciliation {
  const known = new Map<string, number>();
  const changes: PriceChange[] = [];
  const lines = new Map(journal.map((line) => [line.group, line]));
  const days = bill.map((billed): Mutable<ReconciledDay> => {
    const line = lines.get(billed.day);
    const journalMicros = line?.landedMicros ?? 0;
    const differenceMicros = billed.micros - journalMicros;
    const atMostMicros = (line?.unknownMicros ?? 0) + (line?.openMicros ?? 0);
    const unknownMicros = within(differenceMicros, 0, atMostMicros);
    let rest = differenceMicros - unknownMicros;
    let byPrices = 0;
    const changed: PriceChange[] = [];
    for (const price of billed.prices) {
      const each = price.quantity > 0 ? price.micros / price.quantity : null;
      const before = known.get(price.id);
      if (each === null) continue;
      if (before === undefined) known.set(price.id, each);
      else if (Math.abs(each - before) * price.quantity > SMALLEST_CHANGE) {
        byPrices += price.micros - before * price.quantity;
        changed.push({ day: billed.day, name: price.name, before, after: each });
      }
    }
    const priceMicros = sameSide(rest, Math.round(byPrices));
    rest -= priceMicros;
    // The answers of this day already have the new prices.
    if (priceMicros === 0) {
      for (const { id, quantity, micros } of billed.prices) if (quantity > 0) known.set(id, micros / quantity);
    } else {
      const isNew = (one: PriceChange) => !changes.some(({ name, after }) => name === one.name && after === one.after);
      changes.push(...changed.filter(isNew));
    }
    const roundingMicros = Math.abs(rest) <= billed.roundedMicros ? rest : 0;
    return {
      day: billed.day,
      journalMicros,
      billedMicros: billed.micros,
      differenceMicros,
      unknownOutcomes: line?.unknownOutcomes ?? 0,
      atMostMicros,
      unknownMicros,
      priceMicros,
      otherDayMicros: 0,
      roundingMicros,
      unexplainedMicros: rest - roundingMicros,
      prices: billed.prices,
      keys: billed.keys,
    };
  });
  for (const [index, later] of days.entries()) {
    const earlier = days[index - 1];
    if (earlier === undefined) continue;
    const moved = sameSide(earlier.unexplainedMicros, -later.unexplainedMicros);
    earlier.otherDayMicros += moved;
    earlier.unexplainedMicros -= moved;
    later.otherDayMicros -= moved;
    later.unexplainedMicros += moved;
  }
  return { days, changes, agrees: days.every(({ unexplainedMicros }) => unexplainedMicros === 0) };
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Differences of a price times its quantity, in micro-dollars, that come from rounding. */
const SMALLEST_CHANGE = 10_000;

const within = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** The part of a difference that an explanation covers: 0 if the two have different signs. */
function sameSide(difference: number, explanation: number): number {
  if (Math.sign(difference) !== Math.sign(explanation)) return 0;
  return Math.sign(difference) * Math.min(Math.abs(difference), Math.abs(explanation));
}
