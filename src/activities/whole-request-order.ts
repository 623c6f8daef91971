import { drawOf, type Endpoint } from '../api/endpoint.js';
import { canonicalJson, type Json } from '../core/json.js';
import { unitKeys } from '../core/unit-key.js';
import type { ActivityDeps } from './deps.js';
import type { Order } from './purchase.js';

/** An order whose unit is a whole request: a search, or contents with `context`. The unit's text is its canonical JSON. */
export function wholeRequestOrder<I extends object, O>(
  deps: Pick<ActivityDeps, 'transport' | 'timeoutMs' | 'origin' | 'sha256'>,
  endpoint: Endpoint<I, O>,
  input: I,
  what: Pick<Order, 'book' | 'owner' | 'freshness' | 'resumedAt'> & { readonly estimate: number },
): Order {
  const unit = canonicalJson(input);
  const key = unitKeys(deps.sha256, deps.origin, endpoint.name, {})(unit);
  const { estimate, ...order } = what;
  return {
    ...order,
    operation: endpoint.name,
    refused: 'throw',
    draw: drawOf(endpoint, input),
    units: [{ key, unit }],
    unitsPerRequest: 1,
    timeoutMs: deps.timeoutMs,
    estimateMicros: () => estimate,
    send: async (units, signal) => {
      const answer = await deps.transport.send(endpoint, input, { signal });
      return {
        requestId: answer.requestId,
        costMicros: answer.costMicros,
        units: units.map((one) => ({
          ...one,
          status: 'success',
          errorTag: null,
          httpStatus: null,
          source: null,
          result: answer.data as Json,
        })),
      };
    },
  };
}
