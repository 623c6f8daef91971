import { closeSync, ftruncateSync } from 'node:fs';
import type { z } from 'zod';
import { toDollars, toMicros } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import { KeyUsage } from './key-usage.js';
import { type LoggedFact, openLog, type Sale, writeLine } from './log-file.js';

/** All purchases of the sandbox. */
export interface Bill {
  readonly dollars: number;
  /** The total in whole millionths of a dollar. */
  readonly micros: number;
  /** Number of requests whose work was done, whether or not the answer arrived. */
  readonly requests: number;
  readonly units: number;
  /** Number of purchases by key: `<operation> <unit>`, followed by ` <options>` unless the options are the defaults. */
  readonly keys: Readonly<Record<string, number>>;
  /** Number of requests by key, as in `keys`, for units that failed and cost nothing. */
  readonly failed: Readonly<Record<string, number>>;
}

/** Number of purchases by operation and options, then by unit: a million units share one text for operation and options. */
type Counts = Map<string, Map<string, number>>;

function countUnits(counts: Counts, { operation, options }: Sale, units: readonly string[]): void {
  if (units.length === 0) return;
  const name = `${operation}\n${options}`;
  const group = counts.get(name) ?? new Map<string, number>();
  counts.set(name, group);
  for (const unit of units) group.set(unit, (group.get(unit) ?? 0) + 1);
}

function recordOf(counts: Counts): Record<string, number> {
  const record: Record<string, number> = {};
  for (const [name, group] of counts) {
    const [operation, options] = name.split('\n') as [string, string];
    const after = options === '' ? '' : ` ${options}`;
    for (const [unit, times] of group) record[`${operation} ${unit}${after}`] = times;
  }
  return record;
}

/** What follows from the purchases so far. */
function noSums() {
  return {
    bought: new Map() as Counts,
    failed: new Map() as Counts,
    total: { micros: 0, requests: 0, units: 0 },
    usage: new KeyUsage(),
    /** Ids of the charged runs. */
    charged: new Set<string>(),
    /** Keys whose requests started runs, by the id of the run. */
    starters: new Map<string, string>(),
  };
}

/** The team's credits and the purchases. With a file, each change is written to it first. */
export class Ledger {
  readonly #firstMicros: number | null;
  #balance: number | null;
  #fd: number | null = null;
  #sums = noSums();
  /** Applies a fact of each kind; false: it has another form. */
  readonly #appliers = new Map<string, (value: unknown) => boolean>();
  /** Number of earlier openings of the file. */
  starts = 0;

  /** `credits`: initial credits in dollars; null: no limit. */
  constructor(credits: number | null) {
    this.#firstMicros = credits === null ? null : toMicros(credits);
    this.#balance = this.#firstMicros;
  }

  /** Restores the purchases and credits of a file, returns its facts, and writes every later line to the file first. */
  open(path: string): LoggedFact[] {
    const facts: LoggedFact[] = [];
    this.#fd = openLog(path, (line) => {
      if ('fact' in line) facts.push(line.fact);
      else if ('credits' in line) this.#balance = line.credits;
      else if ('start' in line) this.starts += 1;
      else this.#take(line);
    });
    this.#write({ start: this.starts + 1 });
    return facts;
  }

  /** With `keys: false` both records stay empty, which saves time with many purchases. */
  bill(keys: boolean): Bill {
    const { total, bought, failed } = this.#sums;
    return {
      dollars: toDollars(total.micros),
      ...total,
      keys: keys ? recordOf(bought) : {},
      failed: keys ? recordOf(failed) : {},
    };
  }

  /** The charges of each key, for the service's usage endpoint. */
  get usage(): KeyUsage {
    return this.#sums.usage;
  }

  /** Whether the credits are not used up. */
  get isFunded(): boolean {
    return this.#balance === null || this.#balance > 0;
  }

  /** Returns a function that records a fact of this kind and then applies it. {@link restore} applies the facts of an earlier process. */
  facts<T>(kind: string, schema: z.ZodType<T>, apply: (value: T) => void): (value: T) => void {
    this.#appliers.set(kind, (value) => {
      const fact = schema.safeParse(value);
      if (fact.success) apply(fact.data);
      return fact.success;
    });
    return (value) => {
      this.#write({ fact: { kind, value } });
      apply(value);
    };
  }

  /** Throws for a fact that no store knows. */
  restore(facts: readonly LoggedFact[]): void {
    for (const { kind, value } of facts) {
      if (!this.#appliers.get(kind)?.(value)) throw new Error(`the state has an unknown entry: ${kind}`);
    }
  }

  /** Charges a purchase. If the credits are used up or do not cover the purchase, refuses with 402 and writes nothing. */
  sell(sold: Sale): void {
    this.checkCredits(sold.micros);
    this.#record(sold);
  }

  isCharged(run: string): boolean {
    return this.#sums.charged.has(run);
  }

  /** Charges for a run at its end. This charge cannot be refused, so the credits may become negative. */
  charge(operation: string, run: string, micros: number): void {
    const key = this.#sums.starters.get(run);
    this.#record({ operation, options: '', units: [], failed: [], micros, run, key });
  }

  /** Refuses with 402 if the credits are used up or do not cover this number of micro-dollars. */
  checkCredits(micros = 0): void {
    if (this.isFunded && micros <= (this.#balance ?? micros)) return;
    throw new Refusal(402, 'The credits of this team are used up', { tag: 'NO_MORE_CREDITS' });
  }

  setCredits(dollars: number | null): void {
    const micros = dollars === null ? null : toMicros(dollars);
    if (dollars !== null && micros === null) throw new Error(`credits: not an amount of dollars: ${dollars}`);
    this.#write({ credits: micros });
    this.#balance = micros;
  }

  /** Empties the log and its file, and restores the initial credits. */
  reset(): void {
    this.#sums = noSums();
    if (this.#fd !== null) ftruncateSync(this.#fd, 0);
    this.#balance = this.#firstMicros;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
  }

  #write(line: Parameters<typeof writeLine>[1]): void {
    if (this.#fd !== null) writeLine(this.#fd, line);
  }

  #record(purchase: Sale): void {
    const dated = { ...purchase, at: Date.now() };
    this.#write(dated);
    this.#take(dated);
  }

  #take(purchase: Sale): void {
    const { units, failed, micros, run, starts, key } = purchase;
    const { total, bought, usage, charged, starters } = this.#sums;
    countUnits(bought, purchase, units);
    countUnits(this.#sums.failed, purchase, failed);
    total.micros += micros;
    total.units += units.length;
    if (run === undefined) total.requests += 1;
    else charged.add(run);
    usage.add(purchase);
    if (starts !== undefined && key !== undefined) starters.set(starts, key);
    if (this.#balance !== null) this.#balance -= micros;
  }
}
