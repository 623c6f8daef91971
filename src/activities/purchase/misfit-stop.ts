import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { FoundMisfit } from '../../core/rows/on-misfit.js';
import type { MisfitStop, Unit } from './purchase-request.js';

/** Stops a purchase at the first answer with a value that does not fit its column. */
export class PurchaseMisfits {
  readonly stopped = new AbortController();
  /** The first misfit, with the key of its unit. */
  first: (FoundMisfit & { readonly key: string }) | null = null;
  readonly #stop: MisfitStop;
  readonly #units: ReadonlyMap<string, Unit>;

  constructor(stop: MisfitStop, units: readonly Unit[]) {
    this.#stop = stop;
    this.#units = new Map(units.map((unit) => [unit.key, unit]));
  }

  /** Reads answers that have landed. */
  landed(units: readonly Pick<UnitOutcome, 'key' | 'status' | 'result'>[]): void {
    for (const { key, status, result } of units) {
      if (this.first !== null) return;
      const misfit = status === 'success' ? this.#stop.misfitIn(result, this.#units.get(key)?.unit ?? '') : null;
      if (misfit === null) continue;
      this.first = { ...misfit, key };
      this.stopped.abort(new Error('a value does not fit its column'));
    }
  }
}
