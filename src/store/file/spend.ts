import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError } from '../../core/errors/coded-error.js';
import type { DayUsage } from '../../core/purchase/activity.js';
import { type Intent, jobOf } from '../../core/purchase/journal.js';
import {
  ANSWERS_KEPT,
  committed,
  costMultiple,
  FIRST_ANSWERS,
  FIRST_REQUESTS,
  OverBudget,
  observedMultiple,
  type PeriodSpend,
  type Price,
  reservedMicros,
  type SpendCaps,
  type UsageGroup,
  type UsageLine,
} from '../../core/purchase/spend.js';
import { DAY_MS } from '../../core/text/duration.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';

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
export interface Answered {
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
export interface Cell extends Amounts {
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

export const startOfDay = (at: number): number => at - (((at % DAY_MS) + DAY_MS) % DAY_MS);

const endOfDay = (at: number): number => startOfDay(at) + DAY_MS;

function startOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function endOfMonth(at: number): number {
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

/**
 * Returns the amount in micro-dollars that a purchase takes from its caps. If the purchase would exceed a cap, returns that cap; if it
 * would exceed several, returns the cap with the least budget left. Under a cap, a purchase takes the observed cost of such answers if that
 * cost is higher than its estimate. Any purchase under a cap waits while the first requests of its kind are in flight. `now`: Unix ms.
 * `isLeftRunning`: whether an open purchase is a run that was left running; its arguments are the id and the segment of the purchase.
 */
export function reserve(
  sums: SpendSums,
  caps: SpendCaps,
  team: string,
  intent: Intent,
  now: number,
  isLeftRunning: (id: string, segment: string) => boolean,
): number | OverBudget {
  const { cap, estimateMicros, segment, operation, tier = '' } = intent;
  if (!cap && caps.dayMicros === null && caps.monthMicros === null) return estimateMicros;
  const asked = { team, segment, operation, tier, at: now };
  const multiples = sums.multiples(asked);
  const multiple = observedMultiple(multiples);
  const micros = reservedMicros(intent, multiple);
  const isFollowed = (id: string, name: string) => !isLeftRunning(id, name);
  const unproven =
    estimateMicros > 0 && multiples.length < FIRST_ANSWERS && sums.inFlight(asked, isFollowed) >= FIRST_REQUESTS;
  const bounds: OverBudget[] = [];
  const check = (
    scope: OverBudget['scope'],
    limit: number | null,
    sum: Pick<Amounts, 'landedMicros' | 'openMicros' | 'unknownMicros'>,
    resetsAt: number | null,
    isCounted: (one: Intended) => boolean,
  ) => {
    if (limit === null) return;
    const remaining = Math.max(0, limit - committed(sum));
    const over = micros > remaining;
    if (!over && !unproven) return;
    const openMicros = sums.openMicros((id, one) => isCounted(one) && isFollowed(id, one.segment));
    bounds.push(new OverBudget(scope, limit, remaining, openMicros, resetsAt, { multiple, unproven: !over }));
  };
  if (cap) {
    const job = jobOf(cap.bookPrefix);
    check('job', cap.limitMicros, sums.job(job), null, (one) => jobOf(one.segment) === job);
  }
  const since = (start: number) => (one: Intended) => one.team === team && one.at >= start;
  check('day', caps.dayMicros, sums.day(team, now), endOfDay(now), since(startOfDay(now)));
  check('month', caps.monthMicros, sums.month(team, now), endOfMonth(now), since(startOfMonth(now)));
  return bounds.sort((a, b) => a.remainingMicros - b.remainingMicros)[0] ?? micros;
}

const LOCK_MS = 10_000;
const none: SpendCaps = { dayMicros: null, monthMicros: null };

/**
 * The teams' caps in a small JSON file. Any process of the folder may set caps. The file is checked before each purchase, so a new cap
 * applies from the next purchase on.
 */
export class FileCaps {
  readonly #path: string;
  /** The contents of the file when it was last read, and a mark that changes with the file. */
  #known: { readonly mark: string; readonly caps: Readonly<Record<string, SpendCaps>> } = { mark: '', caps: {} };

  constructor(path: string) {
    this.#path = path;
  }

  /** The caps of a team. Throws if the file is damaged, so that no purchase is made without the team's caps. */
  get(team: string): SpendCaps {
    return this.#read()[team] ?? none;
  }

  /** See `Spend.setCaps`. */
  set(team: string, changes: Partial<SpendCaps>): Promise<SpendCaps> {
    makeFolder(dirname(this.#path));
    const write = async () => {
      const [all, now] = [this.#read(), this.get(team)];
      const { dayMicros = now.dayMicros, monthMicros = now.monthMicros } = changes;
      const caps = { dayMicros, monthMicros };
      await writeDurably(this.#path, `${JSON.stringify({ ...all, [team]: caps }, null, 2)}\n`);
      return caps;
    };
    return withLock(`${this.#path}.lock`, write, { waitMs: LOCK_MS, passing: true });
  }

  #read(): Readonly<Record<string, SpendCaps>> {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    if (!stat) return {};
    const mark = `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (mark !== this.#known.mark) this.#known = { mark, caps: this.#parse(readFileSync(this.#path, 'utf8')) };
    return this.#known.caps;
  }

  #parse(text: string): Readonly<Record<string, SpendCaps>> {
    try {
      const all = JSON.parse(text) as Record<string, Record<keyof SpendCaps, unknown>>;
      return Object.fromEntries(
        Object.entries(all).map(([team, { dayMicros, monthMicros }]) => [
          team,
          { dayMicros: amount(dayMicros), monthMicros: amount(monthMicros) },
        ]),
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new CodedError(
        'state-damaged',
        `The file of the team's caps is damaged: ${this.#path} (${why}). Repair it, or remove it and set the caps again with searchflow limits set`,
        { cause: error },
      );
    }
  }
}

function amount(value: unknown): number | null {
  if (value === null || (Number.isSafeInteger(value) && (value as number) >= 0)) return value as number | null;
  throw new Error(`${JSON.stringify(value)} is not an amount of micro-dollars`);
}
