import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { searchPrice as listPrice, type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { dollars, toDollars, toMicros } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import { type Fact, LogFile, type Purchase } from './log-file.js';

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
class PurchaseStats {
  readonly #groups = new Map<string, Map<string, number>>();

  add({ operation, options }: Purchase, units: readonly string[]): void {
    if (units.length === 0) return;
    const name = `${operation}\n${options}`;
    const counts = this.#groups.get(name) ?? new Map<string, number>();
    this.#groups.set(name, counts);
    for (const unit of units) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  }

  toRecord(): Record<string, number> {
    const record: Record<string, number> = {};
    for (const [name, counts] of this.#groups) {
      const [operation, options] = name.split('\n') as [string, string];
      const after = options === '' ? '' : ` ${options}`;
      for (const [unit, times] of counts) record[`${operation} ${unit}${after}`] = times;
    }
    return record;
  }
}

/** The team's credits, the purchase log, and the file of the log, if the log has a file. */
export class Ledger {
  readonly #firstMicros: number | null;
  #balance: number | null;
  #file: LogFile | null = null;
  #bought = new PurchaseStats();
  #failed = new PurchaseStats();
  #sums = { micros: 0, requests: 0, units: 0 };
  /** The charges of each key, for the service's usage endpoint. */
  #usage = new KeyUsage();
  /** Runs that an earlier process charged. */
  readonly #charged = new Set<string>();
  /** Keys whose requests started runs, by the id of the run. */
  readonly #starters = new Map<string, string>();

  /** `credits`: initial credits in dollars; null: no limit. */
  constructor(credits: number | null) {
    this.#firstMicros = credits === null ? null : toMicros(credits);
    this.#balance = this.#firstMicros;
  }

  /** Applies a fact of each kind; false: it has another form. */
  readonly #appliers = new Map<string, (value: unknown) => boolean>();

  /** Restores the purchases and credits of a file, returns its facts, and writes every later line to the file first. */
  async open(path: string): Promise<Fact[]> {
    const facts: Fact[] = [];
    this.#file = await LogFile.open(path, (line) => {
      if ('fact' in line) facts.push(line.fact);
      else if ('credits' in line) this.#balance = line.credits;
      else if ('operation' in line) {
        if (line.run !== undefined) this.#charged.add(line.run);
        this.#take(line);
      }
    });
    return facts;
  }

  /** Number of earlier openings of the file. */
  get starts(): number {
    return this.#file?.starts ?? 0;
  }

  /** With `keys: false` both records stay empty, which saves time with many purchases. */
  bill(keys: boolean): Bill {
    return {
      dollars: toDollars(this.#sums.micros),
      ...this.#sums,
      keys: keys ? this.#bought.toRecord() : {},
      failed: keys ? this.#failed.toRecord() : {},
    };
  }

  get usage(): KeyUsage {
    return this.#usage;
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
      this.#file?.write({ fact: { kind, value } });
      apply(value);
    };
  }

  /** Throws for a fact that no store knows. */
  restore(facts: readonly Fact[]): void {
    for (const { kind, value } of facts) {
      if (!this.#appliers.get(kind)?.(value)) throw new Error(`the state has an unknown entry: ${kind}`);
    }
  }

  /** Charges a purchase. If the credits are used up or do not cover the purchase, refuses with 402 and writes nothing. */
  sell(sold: Purchase): void {
    this.checkCredits(sold.micros);
    this.#record({ ...sold, at: Date.now() });
  }

  /** Charges for a run at its end, once for each run. This charge cannot be refused, so the credits may become negative. */
  charge(operation: string, run: string, micros: number): void {
    if (this.#charged.delete(run)) return;
    const key = this.#starters.get(run);
    this.#record({ operation, options: '', units: [], failed: [], micros, run, key, at: Date.now() });
  }

  /** Refuses with 402 if the credits are used up or do not cover this number of micro-dollars. */
  checkCredits(micros = 0): void {
    if (this.isFunded && micros <= (this.#balance ?? micros)) return;
    throw new Refusal(402, 'NO_MORE_CREDITS', 'The credits of this team are used up');
  }

  setCredits(dollars: number | null): void {
    const micros = dollars === null ? null : toMicros(dollars);
    if (dollars !== null && micros === null) throw new Error(`credits: not an amount of dollars: ${dollars}`);
    this.#file?.write({ credits: micros });
    this.#balance = micros;
  }

  /** Empties the log and its file, and restores the initial credits. */
  reset(): void {
    this.#bought = new PurchaseStats();
    this.#failed = new PurchaseStats();
    this.#sums = { micros: 0, requests: 0, units: 0 };
    this.#usage = new KeyUsage();
    this.#file?.reset();
    this.#balance = this.#firstMicros;
  }

  close(): void {
    this.#file?.close();
  }

  #record(purchase: Purchase): void {
    this.#file?.write(purchase);
    this.#take(purchase);
  }

  #take(purchase: Purchase): void {
    const { units, failed, micros, run } = purchase;
    this.#bought.add(purchase, units);
    this.#failed.add(purchase, failed);
    this.#sums.micros += micros;
    this.#sums.units += units.length;
    if (run === undefined) this.#sums.requests += 1;
    this.#usage.add(purchase);
    if (purchase.starts !== undefined && purchase.key !== undefined) this.#starters.set(purchase.starts, purchase.key);
    if (this.#balance !== null) this.#balance -= purchase.micros;
  }
}

/** Prices of the sandbox: the newest price table. */
export const prices = priceTables.at(-1) as PriceTable;

/** Kinds of content that are priced per page. */
export interface PageCounts {
  readonly text: number;
  readonly highlights: number;
  readonly summary: number;
}

/** Micro-dollars per page and kind of content. */
export const MICROS_PER_PAGE = Math.round(prices.contentsPage * 1e6);

/** Micro-dollars of a search, by type and number of results. The contents of the pages are not included. */
export function searchPrice(type: string, results: number): number {
  return listPrice(type, results, prices);
}

export function contentsPrice(pages: PageCounts): number {
  return (pages.text + pages.highlights + pages.summary) * MICROS_PER_PAGE;
}

/**
 * The cost of an answer, in dollars, in two forms: `search` and `contents` as in today's service, and `breakDown` as in the contract.
 * `total` is the sum in both. Kinds of content without cost are left out; the two sums in `breakDown` are sent even if they are zero.
 */
export function costDollars(
  search: { readonly micros: number; readonly deep: boolean } | null,
  pages: PageCounts,
): unknown {
  const contents = contentsPrice(pages);
  const short: Record<string, number> = {};
  const long: Record<string, number> = {};
  if (search) long[search.deep ? 'deepSearch' : 'neuralSearch'] = toDollars(search.micros);
  for (const [kind, name] of [
    ['text', 'contentText'],
    ['highlights', 'contentHighlight'],
    ['summary', 'contentSummary'],
  ] as const) {
    if (pages[kind] === 0) continue;
    short[kind] = toDollars(pages[kind] * MICROS_PER_PAGE);
    long[name] = toDollars(pages[kind] * MICROS_PER_PAGE);
  }
  return {
    total: toDollars(contents + (search?.micros ?? 0)),
    ...(search ? { search: { neural: toDollars(search.micros) } } : {}),
    ...(contents > 0 ? { contents: short } : {}),
    breakDown: [{ search: toDollars(search?.micros ?? 0), contents: toDollars(contents), breakdown: long }],
  };
}

const HOUR_MS = 3_600_000;

/** The id of a key at the usage endpoint. */
export function keyIdOf(key: string): string {
  return `key_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

/** The charges of one key, hour and price: an operation at a unit price, or all runs of an operation. */
interface Charged {
  readonly key: string;
  readonly hour: number;
  readonly price: string;
  quantity: number;
  micros: number;
}

export class KeyUsage {
  readonly #sums = new Map<string, Charged>();

  add({ key, at, operation, units, micros, run }: Purchase): void {
    if (key === undefined || at === undefined || micros === 0) return;
    const quantity = run === undefined ? units.length : 1;
    const hour = at - (at % HOUR_MS);
    const price = run === undefined ? `${operation} ${dollars(Math.round(micros / quantity))}` : operation;
    addTo(this.#sums, `${key} ${hour} ${price}`, { key, hour, price, quantity, micros });
  }

  /** The charges of a key by price, in the hours that begin in a period (Unix ms, inclusive). */
  between(key: string, from: number, to: number): readonly Charged[] {
    const sums = new Map<string, Charged>();
    for (const one of this.#sums.values()) {
      if (one.key === key && one.hour >= from && one.hour <= to) addTo(sums, one.price, one);
    }
    return [...sums.values()];
  }
}

function addTo(sums: Map<string, Charged>, name: string, charged: Charged): void {
  const sum = sums.get(name);
  if (sum) {
    sum.quantity += charged.quantity;
    sum.micros += charged.micros;
  } else sums.set(name, { ...charged });
}
