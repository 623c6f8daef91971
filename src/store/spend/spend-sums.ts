import {
  ANSWERS_KEPT,
  costMultiple,
  type PeriodSpend,
  type UsageGroup,
  type UsageLine,
} from '../../core/purchase/spend.js';

/** What is known of a purchase once it is intended. */
export interface Asked {
  readonly team: string;
  readonly segment: string;
  readonly operation: string;
  readonly tier: string;
  /** Unix ms; the purchase counts for this day of UTC, whenever its answer lands. */
  readonly at: number;
  readonly estimateMicros: number;
  readonly listMicros: number;
}

/** An answer as it counts: `charged` of its `units` succeeded. */
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

/** A job, an operation and a day of one team: what every usage is put together from. */
interface Cell extends Amounts {
  readonly team: string;
  readonly job: string;
  readonly operation: string;
  /** Unix ms of the day's beginning in UTC. */
  readonly day: number;
  /** What the newest answers of each tier cost, as multiples of their list price. */
  readonly multiples: Map<string, number[]>;
}

/** Money that can't be spent a second time: landed, in flight, and perhaps charged. */
export const committed = ({ landedMicros, openMicros, unknownMicros }: Omit<PeriodSpend, 'since'>): number =>
  landedMicros + openMicros + unknownMicros;

/** The job that a segment is of: its name up to the first `/`; `calls` for those of lone calls. */
export const jobOf = (segment: string): string => segment.split('/', 1)[0] as string;

/**
 * What was spent by job, day and month, kept while purchases open and close: no look at what a team has left reads anything.
 * A few numbers for each job, operation and day.
 */
export class SpendSums {
  readonly #open = new Map<string, Asked>();
  readonly #cells = new Map<string, Cell>();
  readonly #jobs = new Map<string, Amounts>();
  readonly #days = new Map<string, Amounts>();
  readonly #months = new Map<string, Amounts>();

  /** A purchase is about to be made; the same id again changes nothing. */
  opened(id: string, asked: Asked): void {
    if (this.#open.has(id)) return;
    this.#open.set(id, asked);
    this.#each(asked, (sum) => {
      sum.openMicros += asked.estimateMicros;
    });
  }

  /** Its answer came. `stray` stands in for an intent that can't be read any more. */
  landed(id: string, answered: Answered, stray: Asked): void {
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

  /** What the job's answers of the same operation and tier that were asked for on this day have cost, as multiples of their list price. */
  multiples(asked: Omit<Asked, 'estimateMicros' | 'listMicros'>): readonly number[] {
    return this.#cells.get(cellName(asked))?.multiples.get(asked.tier) ?? [];
  }

  /** How many of the same job, operation and tier are in flight. One that was asked for more than a day ago is taken for lost. */
  inFlight({ team, segment, operation, tier, at }: Omit<Asked, 'estimateMicros' | 'listMicros'>): number {
    let count = 0;
    for (const open of this.#open.values()) {
      const same = open.team === team && open.operation === operation && open.tier === tier;
      if (same && open.at > at - DAY_MS && jobOf(open.segment) === jobOf(segment)) count++;
    }
    return count;
  }

  /** No answer came. `maybe`: the estimate counts as spent. */
  missed(id: string, charged: 'never' | 'maybe'): void {
    const asked = this.#close(id);
    if (!asked || charged === 'never') return;
    this.#each(asked, (sum) => {
      sum.unknownOutcomes++;
      sum.unknownMicros += asked.estimateMicros;
    });
  }

  /** Its answer, thought lost, will come after all: it is open again. */
  found(id: string, asked: Asked): void {
    if (this.#open.has(id)) return;
    this.#each(asked, (sum) => {
      sum.unknownOutcomes--;
      sum.unknownMicros -= asked.estimateMicros;
    });
    this.opened(id, asked);
  }

  /** All that was ever asked for a job, by whatever team. */
  job(job: string): Amounts {
    return this.#jobs.get(job) ?? nothing();
  }

  /** The day that holds this moment (Unix ms). */
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

  #cell(asked: Asked): Cell {
    const { team, segment, operation, at } = asked;
    const names = { team, job: jobOf(segment), operation, day: startOfDay(at) };
    return found(this.#cells, cellName(asked), () => ({ ...names, multiples: new Map(), ...nothing() }));
  }

  #close(id: string): Asked | undefined {
    const asked = this.#open.get(id);
    this.#open.delete(id);
    if (asked) {
      this.#each(asked, (sum) => {
        sum.openMicros -= asked.estimateMicros;
      });
    }
    return asked;
  }

  /** Does the same to every sum that a purchase is part of. */
  #each(asked: Asked, change: (sum: Amounts) => void): void {
    const { team, segment, at } = asked;
    const day = startOfDay(at);
    change(this.#cell(asked));
    change(found(this.#jobs, jobOf(segment), nothing));
    change(found(this.#days, `${day} ${team}`, nothing));
    change(found(this.#months, `${startOfMonth(at)} ${team}`, nothing));
  }
}

const cellName = ({ team, segment, operation, at }: Pick<Asked, 'team' | 'segment' | 'operation' | 'at'>): string =>
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
