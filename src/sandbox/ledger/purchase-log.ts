import { toDollars } from '../../core/text/money.js';

/** The purchase of one answered request, or the charge for a run that an earlier request started. */
export interface Purchase {
  /** `contents`, `search`, `answer`, `findSimilar`, `createAgentRun`, `createResearchTask`, `monitorRun`. */
  readonly operation: string;
  /** Canonical options that are part of the purchase; empty for the default options. */
  readonly options: string;
  /** The paid units: URLs, or the canonical request. */
  readonly units: readonly string[];
  /** Requested units that failed: free, but recorded. */
  readonly failed: readonly string[];
  readonly micros: number;
  /** Id of the charged run. A run is charged at its end, long after the request that started it was answered. */
  readonly run?: string | undefined;
  /** Id of the run that this request starts, for the key of its later charge. */
  readonly starts?: string | undefined;
  /** Id of the key that pays, see `keyIdOf`; absent for a scheduled run of a monitor. */
  readonly key?: string | undefined;
  /** Time of the charge, in Unix ms. */
  readonly at?: number | undefined;
}

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

/**
 * Number of purchases of each unit, nested by operation and options. So a million units share one text for the operation and one for the
 * options.
 */
class PurchaseStats {
  readonly #groups = new Map<
    string,
    { readonly before: string; readonly after: string; readonly counts: Map<string, number> }
  >();

  add(operation: string, options: string, units: readonly string[]): void {
    if (units.length === 0) return;
    const name = `${operation}\n${options}`;
    let group = this.#groups.get(name);
    if (!group) {
      group = { before: `${operation} `, after: options === '' ? '' : ` ${options}`, counts: new Map() };
      this.#groups.set(name, group);
    }
    for (const unit of units) group.counts.set(unit, (group.counts.get(unit) ?? 0) + 1);
  }

  toRecord(): Record<string, number> {
    const record: Record<string, number> = {};
    for (const { before, after, counts } of this.#groups.values()) {
      for (const [unit, times] of counts) record[before + unit + after] = times;
    }
    return record;
  }

  clear(): void {
    this.#groups.clear();
  }
}

/** The purchase log: all sales, and the number of purchases of each unit. */
export class PurchaseLog {
  readonly #bought = new PurchaseStats();
  readonly #failed = new PurchaseStats();
  #micros = 0;
  #requests = 0;
  #units = 0;

  get micros(): number {
    return this.#micros;
  }

  add(purchase: Purchase): void {
    this.#bought.add(purchase.operation, purchase.options, purchase.units);
    this.#failed.add(purchase.operation, purchase.options, purchase.failed);
    this.#micros += purchase.micros;
    if (purchase.run === undefined) this.#requests += 1;
    this.#units += purchase.units.length;
  }

  /** With `keys: false` both records stay empty, which saves time with a large purchase log. */
  bill(keys = true): Bill {
    return {
      dollars: toDollars(this.#micros),
      micros: this.#micros,
      requests: this.#requests,
      units: this.#units,
      keys: keys ? this.#bought.toRecord() : {},
      failed: keys ? this.#failed.toRecord() : {},
    };
  }

  reset(): void {
    this.#bought.clear();
    this.#failed.clear();
    this.#micros = 0;
    this.#requests = 0;
    this.#units = 0;
  }
}
