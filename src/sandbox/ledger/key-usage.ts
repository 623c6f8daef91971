import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS } from '../../core/text/duration.js';
import { dollars, toDollars } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import { type Routes, route } from '../route.js';
import type { Sale } from './log-file.js';

const HOUR_MS = 3_600_000;

export function keyIdOf(key: string): string {
  return `key_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

interface Charged {
  readonly quantity: number;
  readonly micros: number;
}

/** The charges of keys by hour and price: an operation at a unit price, or all runs of an operation. */
export class KeyUsage {
  readonly #sums = new Map<string, Charged>();

  add({ key, at, operation, units, micros, run }: Sale): void {
    if (key === undefined || at === undefined || micros === 0) return;
    const quantity = run === undefined ? units.length : 1;
    const price = run === undefined ? `${operation} ${dollars(Math.round(micros / quantity))}` : operation;
    addTo(this.#sums, `${key}/${at - (at % HOUR_MS)}/${price}`, { quantity, micros });
  }

  /** The charges of a key by price, in the hours that begin in a period (Unix ms, inclusive). */
  between(key: string, from: number, to: number): ReadonlyMap<string, Charged> {
    const sums = new Map<string, Charged>();
    for (const [name, charged] of this.#sums) {
      const [owner, hour, price = ''] = name.split('/');
      if (owner === key && Number(hour) >= from && Number(hour) <= to) addTo(sums, price, charged);
    }
    return sums;
  }
}

function addTo(sums: Map<string, Charged>, name: string, { quantity, micros }: Charged): void {
  const sum = sums.get(name) ?? { quantity: 0, micros: 0 };
  sums.set(name, { quantity: sum.quantity + quantity, micros: sum.micros + micros });
}

const MOST_DAYS = 180;
const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional();
const group_by = z.enum(['hour', 'day', 'month']).optional();

export const usageRoutes = (chargesOf: KeyUsage['between'], now: () => number): Routes => ({
  /** The charges of a key in a period. `group_by` changes nothing. */
  'GET /team-management/api-keys/:id/usage': route({
    query: z.looseObject({ start_date: time, end_date: time, group_by }),
    weight: 0,
    work: ({ params: { id }, query }) => {
      const { start_date: from = now() - 30 * DAY_MS, end_date: to = now() } = query;
      const isOld = from < now() - (MOST_DAYS + 1) * DAY_MS;
      if (isOld) throw new Refusal(400, `start_date must be within the last ${MOST_DAYS} days`);
      if (to < from) throw new Refusal(400, 'end_date is before start_date');
      const charges = [...chargesOf(id, from, to)];
      const json = {
        api_key_id: id,
        api_key_name: null,
        team_id: '660e8400-e29b-41d4-a716-446655440000',
        period: { start: new Date(from).toISOString(), end: new Date(to).toISOString() },
        total_cost_usd: toDollars(charges.reduce((sum, [, { micros }]) => sum + micros, 0)),
        cost_breakdown: charges.map(([price, { quantity, micros }]) => ({
          price_id: `price_${price.replace(/\W+/g, '_')}`,
          price_name: price,
          quantity,
          amount_usd: toDollars(micros),
        })),
        metadata: { generated_at: new Date(now()).toISOString() },
      };
      return { json };
    },
  }),
});
