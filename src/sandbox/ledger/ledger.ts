import { createHash } from 'node:crypto';
import { searchPrice as listPrice, type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { dollars, toDollars, toMicros } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import type { LogFile, LogReader } from './log-file.js';
import type { Purchase, PurchaseLog } from './purchase-log.js';

/** The team's credits, the purchase log, and the file of the log, if the log has a file. */
export class Ledger {
  readonly #log: PurchaseLog;
  readonly #firstMicros: number | null;
  #balance: number | null;
  #file: LogFile | null = null;
  /** Runs that an earlier process charged. */
  readonly #charged = new Set<string>();
  /** Keys whose requests started runs, by the id of the run. */
  readonly #starters = new Map<string, string>();
  /** The charges of each key, for the service's usage endpoint. */
  readonly usage = new KeyUsage();

  /** `credits`: initial credits in dollars; null: no limit. */
  constructor(log: PurchaseLog, credits: number | null) {
    this.#log = log;
    this.#firstMicros = credits === null ? null : toMicros(credits);
    this.#balance = this.#firstMicros;
  }

  /** Reader of the lines of a purchase log, which restores earlier purchases. Read the log before {@link keepIn}. */
  get reader(): Omit<LogReader, 'fact'> {
    return {
      purchase: (purchase) => {
        if (purchase.run !== undefined) this.#charged.add(purchase.run);
        this.#take(purchase);
      },
      credits: (micros) => {
        this.#balance = micros;
      },
    };
  }

  /** From now on, writes every purchase to the file before the purchase counts. */
  keepIn(file: LogFile): void {
    this.#file = file;
  }

  /** Remaining dollars; null: no limit. */
  get credits(): number | null {
    return this.#balance === null ? null : toDollars(this.#balance);
  }

  /** Charges a purchase. If the credits are used up or do not cover the purchase, refuses with 402 and writes nothing. */
  sell(sold: Purchase): void {
    if (this.#balance !== null && (this.#balance <= 0 || sold.micros > this.#balance)) {
      throw outOfCredits();
    }
    const purchase = { ...sold, at: Date.now() };
    this.#file?.purchase(purchase);
    this.#take(purchase);
  }

  /** Charges for a run at its end, once for each run. This charge cannot be refused, so the credits may become negative. */
  charge(operation: string, run: string, micros: number): void {
    if (this.#charged.delete(run)) return;
    const key = this.#starters.get(run);
    const purchase = { operation, options: '', units: [], failed: [], micros, run, key, at: Date.now() };
    this.#file?.purchase(purchase);
    this.#take(purchase);
  }

  /** Refuses with 402 if the credits are used up. For requests that are charged only later. */
  checkCredits(): void {
    if (this.#balance !== null && this.#balance <= 0) throw outOfCredits();
  }

  setCredits(dollars: number | null): void {
    const micros = dollars === null ? null : toMicros(dollars);
    if (dollars !== null && micros === null) throw new Error(`credits: not an amount of dollars: ${dollars}`);
    this.#file?.credits(micros);
    this.#balance = micros;
  }

  /** Empties the log and its file, and restores the initial credits. */
  reset(): void {
    this.#log.reset();
    this.usage.reset();
    this.#file?.reset();
    this.#balance = this.#firstMicros;
  }

  close(): void {
    this.#file?.close();
  }

  #take(purchase: Purchase): void {
    this.#log.add(purchase);
    this.usage.add(purchase);
    if (purchase.starts !== undefined && purchase.key !== undefined) this.#starters.set(purchase.starts, purchase.key);
    if (this.#balance !== null) this.#balance -= purchase.micros;
  }
}

function outOfCredits(): Refusal {
  return new Refusal(402, 'NO_MORE_CREDITS', 'The credits of this team are used up');
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

/** The charges of one price: an operation at a unit price, or all runs of an operation. */
interface Charged {
  readonly price: string;
  readonly quantity: number;
  readonly micros: number;
}

/** The charges of each key by hour and price. */
export class KeyUsage {
  readonly #keys = new Map<string, Map<number, Map<string, Charged>>>();

  add({ key, at, operation, units, micros, run }: Purchase): void {
    const quantity = run === undefined ? units.length : 1;
    if (key === undefined || at === undefined || micros === 0) return;
    const hours = found(this.#keys, key, () => new Map<number, Map<string, Charged>>());
    const hour = found(hours, at - (at % HOUR_MS), () => new Map<string, Charged>());
    const price = run === undefined ? `${operation} ${dollars(Math.round(micros / quantity))}` : operation;
    addTo(hour, { price, quantity, micros });
  }

  /** The charges of a key in the hours that begin in a period (Unix ms, inclusive). */
  between(key: string, from: number, to: number): readonly Charged[] {
    const sums = new Map<string, Charged>();
    for (const [hour, charges] of this.#keys.get(key) ?? []) {
      if (hour < from || hour > to) continue;
      for (const charged of charges.values()) addTo(sums, charged);
    }
    return [...sums.values()];
  }

  reset(): void {
    this.#keys.clear();
  }
}

function addTo(sums: Map<string, Charged>, { price, quantity, micros }: Charged): void {
  const before = sums.get(price);
  sums.set(price, {
    price,
    quantity: (before?.quantity ?? 0) + quantity,
    micros: (before?.micros ?? 0) + micros,
  });
}

function found<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
