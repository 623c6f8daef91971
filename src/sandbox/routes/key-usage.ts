import { z } from 'zod';
import { toDollars } from '../../core/text/money.js';
import { checkQuery } from '../base/check-input.js';
import { Refusal } from '../base/refusal.js';
import { jsonWork, type Route } from '../route.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 180;
const TEAM = '660e8400-e29b-41d4-a716-446655440000';

const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional();
const usageQuery = z.looseObject({
  start_date: time,
  end_date: time,
  group_by: z.enum(['hour', 'day', 'month']).optional(),
});

/** `GET /team-management/api-keys/{id}/usage`: the charges of a key in a period. `group_by` changes nothing. */
export const keyUsage: Route = (_input, { usage }, { params, query }) => {
  const now = Date.now();
  const { start_date: from = now - 30 * DAY_MS, end_date: to = now } = checkQuery(usageQuery, query);
  if (from < now - (MOST_DAYS + 1) * DAY_MS)
    throw new Refusal(400, 'INVALID_REQUEST', `start_date must be within the last ${MOST_DAYS} days`);
  if (to < from) throw new Refusal(400, 'INVALID_REQUEST', 'end_date is before start_date');
  const id = params.id as string;
  return () => {
    const charges = usage.between(id, from, to);
    return jsonWork({
      api_key_id: id,
      api_key_name: null,
      team_id: TEAM,
      period: { start: new Date(from).toISOString(), end: new Date(to).toISOString() },
      total_cost_usd: toDollars(charges.reduce((sum, { micros }) => sum + micros, 0)),
      cost_breakdown: charges.map(({ price, quantity, micros }) => ({
        price_id: `price_${price.replace(/\W+/g, '_')}`,
        price_name: price,
        quantity,
        amount_usd: toDollars(micros),
      })),
      metadata: { generated_at: new Date(now).toISOString() },
    });
  };
};
