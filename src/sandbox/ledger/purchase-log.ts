import { toDollars } from '../../core/text/money.js';
import type { Purchase } from './log-file.js';

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

/** The purchase log: all sales, and the number of purchases of each unit. */
export class PurchaseLog {
  readonly #bought = new PurchaseStats();
  readonly #failed = new PurchaseStats();
  #micros = 0;
  #requests = 0;
  #units = 0;

  add(purchase: Purchase): void {
    this.#bought.add(purchase, purchase.units);
    this.#failed.add(purchase, purchase.failed);
    this.#micros += purchase.micros;
    if (purchase.run === undefined) this.#requests += 1;
    this.#units += purchase.units.length;
  }

  /** With `keys: false` both records stay empty, which saves time with a large purchase log. */
  bill(keys: boolean): Bill {
    return {
      dollars: toDollars(this.#micros),
      micros: this.#micros,
      requests: this.#requests,
      units: this.#units,
      keys: keys ? this.#bought.toRecord() : {},
      failed: keys ? this.#failed.toRecord() : {},
    };
  }
}
