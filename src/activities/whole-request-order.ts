import { drawOf, type Endpoint } from '../api/endpoint.js';
import type { Input, SendOptions } from '../api/transport.js';
import { transientTags } from '../core/failure.js';
import { canonicalJson, type Json } from '../core/json.js';
import { unitKeys } from '../core/unit-key.js';
import { buyNow, type CallOptions, failUnlessSuccess, loneOrder, type OperationResult, packed } from './buy.js';
import type { ActivityDeps } from './deps.js';
import { toFailure } from './failure.js';
import type { Order } from './purchase.js';

/**
 * Buys the answer of a whole request: a search, an agent run, contents with `context`. The unit is the request as canonical JSON,
 * so the same one is not bought twice. A request that the service would refuse is refused before anything is written down.
 */
export async function buyWhole<I, O>(
  deps: ActivityDeps,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  call: CallOptions = {},
): Promise<OperationResult<O>> {
  const send = sendOptions(call);
  try {
    deps.transport.check(endpoint, input, send);
  } catch (error) {
    throw toFailure(error);
  }
  let shape: Error | null = null;
  const order = wholeRequestOrder(deps, endpoint, input, call, send, (error) => {
    shape = error;
  });
  const { records, requests } = await buyNow(deps, order);
  // What landed was checked against the endpoint's schema when it came.
  return packed(failUnlessSuccess(records[0], shape).result as O, order, requests);
}

/** What of a call's options goes on the wire. */
export function sendOptions({ variant, beta, extraHeaders }: CallOptions): SendOptions {
  return { ...(variant && { variant }), ...(beta && { beta }), ...(extraHeaders && { extraHeaders }) };
}

function wholeRequestOrder<I, O>(
  deps: ActivityDeps,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  call: CallOptions,
  send: SendOptions,
  onFailure: (error: Error) => void,
): Order {
  const unit = canonicalJson(input);
  // Another form, or another beta feature, is another answer.
  const key = unitKeys(deps.sha256, deps.origin, endpoint.name, send)(unit);
  // Checked against the endpoint's types before.
  const known = input as I;
  const lone = loneOrder(call);
  const starts = endpoint.retry === 'adopt';
  return {
    ...lone,
    // A start whose answer was lost may run: another call doesn't start it anew either, unless it says so by `refreshAfterMs`.
    ...(starts && {
      freshness: { ...lone.freshness, retryTags: transientTags.filter((tag) => tag !== 'UNKNOWN_OUTCOME') },
    }),
    operation: endpoint.name,
    refused: 'throw',
    draw: drawOf(endpoint, known),
    units: [{ key, unit }],
    unitsPerRequest: 1,
    timeoutMs: deps.timeoutMs,
    maxRebuys: starts ? 0 : undefined,
    estimateMicros: () => endpoint.estimate(known),
    send: async (units, signal) => {
      const answer = await deps.transport.send(endpoint, input, { ...send, signal }).catch((error: Error) => {
        onFailure(error);
        throw error;
      });
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
