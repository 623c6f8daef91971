import type { DayUsage } from '../../core/purchase/activity.js';
import { jobOf } from '../../core/purchase/journal.js';
import {
  ANSWERS_KEPT,
  committed,
  costMultiple,
  FIRST_ANSWERS,
  observedMultiple,
  type PeriodSpend,
  type Price,
  reservedMicros,
  type UsageGroup,
  type UsageLine,
} from '../../core/purchase/spend.js';

/** Facts of an intended purchase. */
export interface Intended {
  readonly team: string;
  readonly segment: string;
  readonly operation: string;
  readonly tier: string;
  /** Unix ms. The purchase counts for the UTC day of this time, regardless of when its answer lands. */
  readonly at: number;
  readonly estimateMicros: number;
  readonly listMicros: number;
}

/** Facts of an answer; `charged`: the number of its `units` that succeeded. */
interface Answered {
  readonly costMicros: number;
  readonly units: number;
  readonly charged: number;
}

/** Sums of some purchases. Amounts in micro-dollars. */
export interface Amounts {
  requests: number;
  units: number;
  landedMicros: number;
  openMicros: number;
  unknownOutcomes: number;
  unknownMicros: number;
}

/** Sums of a team for one job, operation and day. All usage is made from these sums. */
interface Cell extends Amounts {
  readonly team: string;
  readonly job: string;
  readonly operation: string;
  /** Start of the UTC day, Unix ms. */
  readonly day: number;
  /** Costs of the newest answers of each tier, as multiples of their list price. */
  readonly multiples: Map<string, number[]>;
}

/** The amount that a request without an answer counts as: once answers have shown their cost, its likely price, and at most its estimate. */
export function lostMicros(
  { estimateMicros, listMicros = estimateMicros }: Price,
  multiples: readonly number[],
): number {
  if (multiples.length < FIRST_ANSWERS) return estimateMicros;
  return Math.min(estimateMicros, reservedMicros({ estimateMicros: listMicros }, observedMultiple(multiples)));
}

/**
 * Spending by job, day and month, which is updated with each purchase, so that the remaining budget of a team is known without reading a
 * file. Only a few numbers are kept for each job, operation and day.
 */
export class SpendSums {
  readonly #open = new Map<string, Intended>();
  readonly #cells = new Map<string, Cell>();
  readonly #jobs = new Map<string, Amounts>();
  readonly #days = new Map<string, Amounts>();
  readonly #months = new Map<string, Amounts>();

  /** Adds a purchase that is about to be made. A known id changes nothing. */
  opened(id: string, asked: Intended): void {
    if (this.#open.has(id)) return;
    this.#open.set(id, asked);
    this.#each(asked, (sum) => {
      sum.openMicros += asked.estimateMicros;
    });
  }

  /** Records the answer of a purchase. `stray`: the facts to use if the intent cannot be read. */
  landed(id: string, answered: Answered, stray: Intended): void {
    const asked = this.#close(id) ?? stray;
    const { costMicros, units } = answered;
    this.#each(asked, (sum) => {
      sum.requests++;
      sum.units += units;
      sum.landedMicros += costMicros;
    });
    const multiple = costMultiple(asked.listMicros, answered);
    if (multiple === null) return;
    const multiples = found(this.#cell(asked).multiples, asked.tier, () => []);
    multiples.push(multiple);
    if (multiples.length > ANSWERS_KEPT) multiples.shift();
  }

  /** The amount of a job that counts against its cap. */
  readonly counted = (job: string): number => committed(this.job(job));

  /** Costs of this day's answers of the same job, operation and tier, as multiples of their list price. */
  multiples(asked: Omit<Intended, 'estimateMicros' | 'listMicros'>): readonly number[] {
    return this.#cells.get(cellName(asked))?.multiples.get(asked.tier) ?? [];
  }

  /** Number of the open purchases of the same job, operation and tier that `counts` includes. Purchases older than a day count as lost. */
  inFlight(
    { team, segment, operation, tier, at }: Omit<Intended, 'estimateMicros' | 'listMicros'>,
    counts: (id: string, segment: string) => boolean,
  ): number {
    let count = 0;
    for (const [id, open] of this.#open) {
      const same = open.team === team && open.operation === operation && open.tier === tier;
      const isNear = open.at > at - DAY_MS && jobOf(open.segment) === jobOf(segment);
      if (same && isNear && counts(id, open.segment)) count++;
    }
    return count;
  }

  /** Sum of the estimates of the open purchases that `counts` includes. */
  openMicros(counts: (id: string, asked: Intended) => boolean): number {
    let micros = 0;
    for (const [id, open] of this.#open) if (counts(id, open)) micros += open.estimateMicros;
    return micros;
  }

  /** The amount that an open purchase counts as if its answer is lost; undefined for an unknown id. */
  lostMicros(id: string): number | undefined {
    const asked = this.#open.get(id);
    return asked && lostMicros(asked, this.multiples(asked));
  }

  /** Records that no answer came. `maybe`: `micros` count as spent, by default the estimate. */
  missed(id: string, charged: 'never' | 'maybe', micros?: number): void {
    const asked = this.#close(id);
    if (!asked || charged === 'never') return;
    this.#each(asked, (sum) => {
      sum.unknownOutcomes++;
      sum.unknownMicros += micros ?? asked.estimateMicros;
    });
  }

  /** Reopens a purchase whose answer was considered lost. */
  found(id: string, asked: Intended): void {
    if (this.#open.has(id)) return;
    this.#each(asked, (sum) => {
      sum.unknownOutcomes--;
      sum.unknownMicros -= asked.estimateMicros;
    });
    this.opened(id, asked);
  }

  /** Sums of all purchases of a job, by all teams. */
  job(job: string): Amounts {
    return this.#jobs.get(job) ?? nothing();
  }

  /** Spending on the UTC day of this moment (Unix ms). */
  day(team: string, at: number): PeriodSpend {
    return period(startOfDay(at), this.#days.get(`${startOfDay(at)} ${team}`));
  }

  month(team: string, at: number): PeriodSpend {
    return period(startOfMonth(at), this.#months.get(`${startOfMonth(at)} ${team}`));
  }

  /** See `Spend.usage`. */
  usage(team: string, by: UsageGroup, since = 0, until = Number.POSITIVE_INFINITY): readonly UsageLine[] {
    const groups = new Map<string, Amounts>();
    for (const cell of this.#cells.values()) {
      if (cell.team !== team || cell.day < startOfDay(since) || cell.day >= until) continue;
      const group = by === 'day' ? new Date(cell.day).toISOString().slice(0, 10) : cell[by];
      add(found(groups, group, nothing), cell);
    }
    const names = [...groups.keys()].sort();
    return names.map((group) => ({ group, ...(groups.get(group) as Amounts) }));
  }

  /** See `JournalReport.days`. */
  days(team: string, job: string | null, since: number, until: number): readonly DayUsage[] {
    const days = new Map<string, Amounts & { readonly day: string; readonly operation: string }>();
    for (const cell of this.#cells.values()) {
      if (cell.team !== team || (job !== null && cell.job !== job)) continue;
      if (cell.day < startOfDay(since) || cell.day >= until) continue;
      const { operation } = cell;
      const day = new Date(cell.day).toISOString().slice(0, 10);
      add(
        found(days, `${day} ${operation}`, () => ({ day, operation, ...nothing() })),
        cell,
      );
    }
    return [...days.keys()].sort().map((name) => days.get(name) as DayUsage);
  }

  #cell(asked: Intended): Cell {
    const { team, segment, operation, at } = asked;
    const names = { team, job: jobOf(segment), operation, day: startOfDay(at) };
    return found(this.#cells, cellName(asked), () => ({ ...names, multiples: new Map(), ...nothing() }));
  }

  #close(id: string): Intended | undefined {
    const asked = this.#open.get(id);
    this.#open.delete(id);
    if (asked) {
      this.#each(asked, (sum) => {
        sum.openMicros -= asked.estimateMicros;
      });
    }
    return asked;
  }

  /** Applies a change to all sums of a purchase. */
  #each(asked: Intended, change: (sum: Amounts) => void): void {
    const { team, segment, at } = asked;
    const day = startOfDay(at);
    change(this.#cell(asked));
    change(found(this.#jobs, jobOf(segment), nothing));
    change(found(this.#days, `${day} ${team}`, nothing));
    change(found(this.#months, `${startOfMonth(at)} ${team}`, nothing));
  }
}

const cellName = ({ team, segment, operation, at }: Pick<Intended, 'team' | 'segment' | 'operation' | 'at'>): string =>
  JSON.stringify([team, jobOf(segment), operation, startOfDay(at)]);

const DAY_MS = 86_400_000;

export const startOfDay = (at: number): number => at - (((at % DAY_MS) + DAY_MS) % DAY_MS);

export const endOfDay = (at: number): number => startOfDay(at) + DAY_MS;

export function startOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

export function endOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

const nothing = (): Amounts => ({
  requests: 0,
  units: 0,
  landedMicros: 0,
  openMicros: 0,
  unknownOutcomes: 0,
  unknownMicros: 0,
});

function period(since: number, sum: Amounts = nothing()): PeriodSpend {
  const { landedMicros, openMicros, unknownMicros } = sum;
  return { since, landedMicros, openMicros, unknownMicros };
}

function add(sum: Amounts, more: Amounts): void {
  for (const name of Object.keys(nothing()) as (keyof Amounts)[]) sum[name] += more[name];
}

function found<T>(map: Map<string, T>, key: string, make: () => T): T {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
