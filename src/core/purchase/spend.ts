import { codeOfCap } from '../errors/code-of.js';
import type { ErrorCode } from '../errors/registry.js';
import { dollars } from '../text/money.js';
import type { PeriodSpend, SpendCaps, UsageGroup, UsageLine } from './spend-schemas.js';

export type { PeriodSpend, SpendCaps, UsageGroup, UsageLine } from './spend-schemas.js';

/** A cap of the total cost of some segments: a job's `--max-cost`. */
export interface SpendCap {
  /** The prefix of the job's segments: `<job>/`. The name `bookPrefix` is old; recorded histories have this name. */
  readonly bookPrefix: string;
  /** The cap in micro-dollars. Landed answers count at their cost, open intents at their estimate, unknown outcomes at their likely price. */
  readonly limitMicros: number;
  /** The part of the cap that runs before this one have used. Absent: unknown. */
  readonly beforeMicros?: number;
}

/** Amount that counts against a cap: landed, in flight, and possibly charged. */
export const committed = ({ landedMicros, openMicros, unknownMicros }: Omit<PeriodSpend, 'since'>): number =>
  landedMicros + openMicros + unknownMicros;

/**
 * The team's spend. The spend is computed from the journal, so a crash cannot cause a difference between spend and journal.
 * `Journal.intend` enforces the caps in the same write as the intent.
 */
export interface Spend {
  caps(): Promise<SpendCaps>;
  /** Sets the caps that are given, in one step with respect to other callers, and returns all caps. Undefined: unchanged. */
  setCaps(caps: Partial<SpendCaps>): Promise<SpendCaps>;
  spent(): Promise<{ readonly day: PeriodSpend; readonly month: PeriodSpend }>;
  /** The amount of a job that counts under its cap, of all its runs and teams, in micro-dollars. */
  counted(job: string): Promise<number>;
  /**
   * Sums by group, ordered by the name of the group, over whole UTC days: from the day of `since` to the last day that begins before
   * `until` (Unix ms).
   */
  usage(by: UsageGroup, since?: number, until?: number): Promise<readonly UsageLine[]>;
}

/**
 * An intent would exceed a cap; nothing was written. If several caps are exceeded, the error is about the cap with the least remaining
 * money. If `openMicros` is not 0, requests in flight may cost less than their estimate and free a part of the cap.
 */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
  readonly errorCode: ErrorCode;
  /** The cost of requests as a multiple of their list price; see {@link observedMultiple}. */
  readonly multiple: number;
  /** The cap is high enough, but the first requests of this kind are still in flight, and their real cost is not known yet. */
  readonly unproven: boolean;
  constructor(
    /** The owner of the cap. `worker`: the worker's cap for one run of a job. */
    readonly scope: 'job' | 'worker' | 'day' | 'month' | 'call',
    readonly capMicros: number,
    /** The rest of the cap, at least 0. */
    readonly remainingMicros: number,
    /** The reserved amount of requests in flight. */
    readonly openMicros: number,
    /** Start of the next day or month in Unix ms; null for a job or a call. */
    readonly resetsAt: number | null,
    { multiple = 0, unproven = false }: { readonly multiple?: number; readonly unproven?: boolean } = {},
  ) {
    super(
      scope === 'worker'
        ? `this worker's budget of ${dollars(capMicros)} for a run of a job (maxCostPerJob) is used up`
        : scope === 'job' || scope === 'call'
          ? `the ${scope}'s budget of ${dollars(capMicros)} is used up`
          : `the team's budget of ${dollars(capMicros)} a ${scope} is used up until ${new Date(resetsAt ?? 0).toISOString()}`,
    );
    this.errorCode = codeOfCap(scope);
    this.multiple = multiple;
    this.unproven = unproven;
  }
}

/** The expected cost of a request. Amounts in micro-dollars. */
export interface Price {
  /** The maximum cost of the request by the price table, or the bound that is sent with the request. */
  readonly estimateMicros: number;
  /** The cost by the price table, if it is lower than the estimate. Default: the estimate. */
  readonly listMicros?: number | undefined;
}

/**
 * Under a cap, at most `FIRST_REQUESTS` requests of one operation and tier are in flight until `FIRST_ANSWERS` answers have shown their
 * cost. This bounds the damage of a wrong price table.
 */
export const FIRST_REQUESTS = 2;
export const FIRST_ANSWERS = 3;
/** The number of latest answers from which the observed multiple is computed. */
export const ANSWERS_KEPT = 100;

/**
 * The cost of an answer as a multiple of its list price. Failed units are free, so the result is null if all units failed at no cost.
 * `charged`: the number of units that succeeded.
 */
export function costMultiple(
  listMicros: number,
  { costMicros, units, charged }: { readonly costMicros: number; readonly units: number; readonly charged: number },
): number | null {
  if (listMicros <= 0 || (costMicros <= 0 && charged === 0)) return null;
  return (costMicros * units) / (listMicros * (charged > 0 ? charged : units));
}

/** The 95th percentile of answers' costs as multiples of their list price; 0 without answers. */
export function observedMultiple(multiples: readonly number[]): number {
  const sorted = [...multiples].sort((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}

/** The amount that a request reserves under a cap until its answer lands: the higher of price table and observed cost. */
export function reservedMicros({ estimateMicros, listMicros = estimateMicros }: Price, multiple: number): number {
  return Math.max(estimateMicros, Math.floor(listMicros * multiple + 0.5));
}
