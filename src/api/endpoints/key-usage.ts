import { z } from 'zod';
import { date } from '../checks/fields.js';
import { defineEndpoint } from '../wire/endpoint.js';

const keyUsageRequest = z.looseObject({
  /** Id of an API key, which is not the key itself. */
  id: z.string(),
  /** Both bounds are ISO 8601 in UTC, and inclusive; the service keeps 100 to 180 days. */
  start_date: date,
  end_date: date,
  /** Reserved by the service: `hour`, `day` or `month` change nothing in the answer. */
  group_by: z.string().optional(),
});
export type KeyUsageRequest = z.infer<typeof keyUsageRequest>;

const chargedPrice = z.looseObject({
  price_id: z.string().nullish(),
  price_name: z.string().nullish(),
  quantity: z.number().nullish(),
  amount_usd: z.number().nullish(),
});

const keyUsage = z.looseObject({
  api_key_id: z.string().nullish(),
  api_key_name: z.string().nullish(),
  period: z.looseObject({ start: z.string(), end: z.string() }).nullish(),
  total_cost_usd: z.number().nonnegative(),
  cost_breakdown: z.array(chargedPrice).nullish(),
  metadata: z.looseObject({ generated_at: z.string().nullish() }).nullish(),
});
export type KeyUsage = z.infer<typeof keyUsage>;

/**
 * What the service has charged for the calls of one API key in a period. Its host is not that of the operations, and it needs a service key,
 * so it is not in the table of operations. API reference: GET /team-management/api-keys/{id}/usage.
 */
export const keyUsageEndpoint = defineEndpoint<KeyUsageRequest, KeyUsage>({
  name: 'getKeyUsage',
  path: '/team-management/api-keys/{id}/usage',
  // Another host: the call takes nothing of the rate of the operations.
  weight: 0,
  request: keyUsageRequest,
  response: keyUsage,
});
