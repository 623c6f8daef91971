/** A bound on what some segments may cost together: a job's `--max-cost`. */
export interface SpendCap {
  /** The job, as the beginning of its segments' names: `<job>/`. Whoever's money it was. */
  readonly bookPrefix: string;
  /** Landed at actual, open intents and unknown outcomes at their estimate. */
  readonly limitMicros: number;
}

/** The team's own bounds, by days and months of UTC; null: none. */
export interface SpendCaps {
  readonly dayMicros: number | null;
  readonly monthMicros: number | null;
}

/** What was asked for in a period, landed in it or later. Amounts in micro-dollars. */
export interface PeriodSpend {
  /** Unix ms. */
  readonly since: number;
  readonly landedMicros: number;
  /** Estimates of intents that are still open. */
  readonly openMicros: number;
  /** Estimates of unknown outcomes: they may have been charged. */
  readonly unknownMicros: number;
}

export type UsageGroup = 'job' | 'operation' | 'day';

/** One line of a team's usage. Amounts in micro-dollars. */
export interface UsageLine {
  /** Job id (`calls` for lone calls), operation, or day (`2026-11-21`, UTC), by what was asked. */
  readonly group: string;
  /** Purchases whose answer landed, and the units it brought. */
  readonly requests: number;
  readonly units: number;
  readonly landedMicros: number;
  readonly openMicros: number;
  readonly unknownOutcomes: number;
  readonly unknownMicros: number;
}

/**
 * What the team has spent, as the journal says: no crash can make the two disagree. `Journal.intend` holds the caps, in the
 * same write that says what is about to be bought.
 */
export interface Spend {
  caps(): Promise<SpendCaps>;
  setCaps(caps: SpendCaps): Promise<void>;
  /** The current day and month. */
  spent(): Promise<{ readonly day: PeriodSpend; readonly month: PeriodSpend }>;
  /** Sums by group, ordered by its name, over whole days of UTC: the one that holds `since` to the last that begins before `until` (Unix ms). */
  usage(by: UsageGroup, since?: number, until?: number): Promise<readonly UsageLine[]>;
}

/**
 * An intent would pass a cap (of several the one that leaves least); nothing was written down. Where `openMicros` is not 0 some of the money may come back when what
 * is in flight has landed for less than its estimate.
 */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
  /** What a request costs, as a multiple of its list price; see {@link observedMultiple}. */
  readonly multiple: number;
  /** The cap would cover it, but the first requests of its kind are in flight: only their answers tell what it costs. */
  readonly unproven: boolean;
  constructor(
    /** `worker`: what the worker allows a run of a job. */
    readonly scope: 'job' | 'worker' | 'day' | 'month' | 'call',
    readonly capMicros: number,
    /** What the cap leaves now, at least 0. */
    readonly remainingMicros: number,
    /** Part of what is taken that is still in flight. */
    readonly openMicros: number,
    /** Unix ms when a new day or month begins; null for a job or a call. */
    readonly resetsAt: number | null,
    { multiple = 0, unproven = false }: { readonly multiple?: number; readonly unproven?: boolean } = {},
  ) {
    super(
      scope === 'worker'
        ? `the $${capMicros / 1e6} that this worker allows a run of a job (maxCostPerJob) are used up`
        : scope === 'job' || scope === 'call'
          ? `the ${scope}'s budget of $${capMicros / 1e6} is used up`
          : `the team's budget of $${capMicros / 1e6} a ${scope} is used up until ${new Date(resetsAt ?? 0).toISOString()}`,
    );
    this.multiple = multiple;
    this.unproven = unproven;
  }
}

/** What a request is taken to cost before it is sent. Amounts in micro-dollars. */
export interface Price {
  /** The most that it may cost by the price table, or the bound that it is sent with. */
  readonly estimateMicros: number;
  /** What it costs by the price table, where that is less; default the same. */
  readonly listMicros?: number | undefined;
}

/**
 * Under a cap, so many requests of one operation and tier are in flight until so many answers have told what they cost: where the
 * price table is wrong, no more than these are bought at a price that nobody knew.
 */
export const FIRST_REQUESTS = 2;
export const FIRST_ANSWERS = 3;
/** Answers that tell the price: the newest ones. */
export const ANSWERS_KEPT = 100;

/**
 * What an answer cost, as a multiple of the list price of what it brought; null where it tells nothing: units that failed are free.
 * `charged` of its `units` succeeded.
 */
export function costMultiple(
  listMicros: number,
  { costMicros, units, charged }: { readonly costMicros: number; readonly units: number; readonly charged: number },
): number | null {
  if (listMicros <= 0 || (costMicros <= 0 && charged === 0)) return null;
  return (costMicros * units) / (listMicros * (charged > 0 ? charged : units));
}

/** The 95th percentile of what answers cost as multiples of their list price; 0 where there is none. */
export function observedMultiple(multiples: readonly number[]): number {
  const sorted = [...multiples].sort((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}

/** What a request takes from a cap until its answer lands: the higher of the price table and what answers have cost. */
export function reservedMicros({ estimateMicros, listMicros = estimateMicros }: Price, multiple: number): number {
  return Math.max(estimateMicros, Math.floor(listMicros * multiple + 0.5));
}
