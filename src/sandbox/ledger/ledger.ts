import { toDollars, toMicros } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import { KeyUsage } from './key-usage.js';
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
