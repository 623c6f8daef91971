import { createHash } from 'node:crypto';
import { dollars } from '../../core/text/money.js';
import type { Purchase } from './purchase-log.js';

const HOUR_MS = 3_600_000;

/** The id of a key at the usage endpoint. */
export function keyIdOf(key: string): string {
  return `key_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

/** The charges of one price: an operation at a unit price, or all runs of an operation. */
export interface Charged {
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
