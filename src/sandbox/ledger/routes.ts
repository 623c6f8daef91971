import { z } from 'zod';
import { toDollars } from '../../core/text/money.js';
import { Refusal } from '../base/refusal.js';
import { type Routes, route } from '../route.js';
import type { World } from '../world.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 180;
const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional();
const group_by = z.enum(['hour', 'day', 'month']).optional();

export const usageRoutes = ({ ledger, now }: World): Routes => ({
  /** The charges of a key in a period. `group_by` changes nothing. */
  'GET /team-management/api-keys/:id/usage': route({
    query: z.looseObject({ start_date: time, end_date: time, group_by }),
    weight: 0,
    work: ({ params: { id }, query }) => {
      const { start_date: from = now() - 30 * DAY_MS, end_date: to = now() } = query;
      const isOld = from < now() - (MOST_DAYS + 1) * DAY_MS;
      if (isOld) throw new Refusal(400, `start_date must be within the last ${MOST_DAYS} days`);
      if (to < from) throw new Refusal(400, 'end_date is before start_date');
      const charges = ledger.usage.between(id, from, to);
      const json = {
        api_key_id: id,
        api_key_name: null,
        team_id: '660e8400-e29b-41d4-a716-446655440000',
        period: { start: new Date(from).toISOString(), end: new Date(to).toISOString() },
        total_cost_usd: toDollars(charges.reduce((sum, { micros }) => sum + micros, 0)),
        cost_breakdown: charges.map(({ price, quantity, micros }) => ({
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
