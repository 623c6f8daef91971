import { createHash } from 'node:crypto';
import { dollars } from '../../core/text/money.js';
import type { Purchase } from './log-file.js';

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
