// The bill of each API key: what the service has charged in a period. It needs the service key, not an API key.
import { z } from 'zod';
import { hashOf } from './chance.mjs';
import { Refused } from './refused.mjs';

const query = z.strictObject({
  start_date: z.iso.datetime(),
  end_date: z.iso.datetime(),
  group_by: z.enum(['hour', 'day', 'month']).optional(),
});

export function keyBill(purchases, log) {
  const idOf = (key) => `${hashOf(key).toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const others = [];
  const control = {
    idOf,
    charge: (key, day, price, quantity, micros) =>
      void others.push({ id: idOf(key), wallAt: Date.parse(`${day}T12:00:00Z`), price, quantity, micros }),
    change: null,
  };

  function charged() {
    const keys = new Map(log.map(({ requestId, key }) => [requestId, key]));
    const own = purchases.charges.flatMap(({ operation, units, requestId, wallAt }) =>
      units.map(({ micros }) => ({
        id: idOf(keys.get(requestId)),
        wallAt,
        price: `${operation} ${micros}`,
        quantity: 1,
        micros,
      })),
    );
    return [...own, ...others];
  }

  function usage({ url, ids: [id] }) {
    const { start_date: start, end_date: end } = query.parse(Object.fromEntries(url.searchParams));
    if (Date.parse(start) < Date.now() - 181 * 86_400_000)
      throw new Refused(400, 'INVALID_REQUEST', 'at most 180 days');
    const prices = new Map();
    let total = 0;
    for (const { price, quantity, micros } of charged().filter(
      (one) => one.id === id && one.wallAt >= Date.parse(start) && one.wallAt <= Date.parse(end),
    )) {
      const before = prices.get(price) ?? { price_id: `id of ${price}`, price_name: price, quantity: 0, micros: 0 };
      prices.set(price, { ...before, quantity: before.quantity + quantity, micros: before.micros + micros });
      total += micros;
    }
    const answer = {
      ...{ api_key_id: id, api_key_name: 'the key', team_id: 'team', period: { start, end } },
      total_cost_usd: total / 1e6,
      cost_breakdown: [...prices.values()].map(({ micros, ...rest }) => ({ ...rest, amount_usd: micros / 1e6 })),
      metadata: { generated_at: new Date().toISOString() },
    };
    return control.change?.(answer) ?? answer;
  }

  return {
    refusal: (code, message) => ({ error: message, tag: code }),
    routes: [
      { method: 'GET', path: /^\/team-management\/api-keys\/([^/]+)\/usage$/, kind: 'bill', units: 0, act: usage },
    ],
    control,
  };
}
