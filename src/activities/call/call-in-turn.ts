import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../../api/answer/read-answer.js';
import { sendInTurn } from '../../api/in-turn.js';
import type { Input, SendOptions, Transport } from '../../api/transport.js';
import { type Endpoint, rateCostOf } from '../../api/wire/endpoint.js';
import { ApiError } from '../../api/wire/errors.js';
import { type Limiter, takeTurn } from '../../core/limiter/limiter.js';
import { backoffMs } from '../../core/purchase/backoff.js';

export interface SendDeps {
  readonly transport: Pick<Transport, 'send'>;
  readonly limiter: Limiter;
}

/** Makes one attempt at a free call in its turn of the team's rate. If the service asks for a pause, all calls of the team wait. */
export function callInTurn<I, O>(
  { transport, limiter }: SendDeps,
  endpoint: Endpoint<I, O>,
  input: I,
  options: SendOptions = {},
): Promise<Answer<O>> {
  const rateCost = rateCostOf(endpoint, input);
  return sendInTurn(
    { limiter, rateCost, refusals: 0 },
    () => takeTurn(limiter, rateCost, options.signal),
    () => transport.send(endpoint, input as Input<NoInfer<I>>, options),
  );
}

/** Makes up to `tries` attempts, a further one only after a retryable failure, which `onRetry` gets. Rejects with the reason of an abort. */
export async function callWithRetries<I, O>(
  deps: SendDeps,
  endpoint: Endpoint<I, O>,
  input: I,
  { tries, onRetry, ...options }: SendOptions & { readonly tries: number; onRetry?(error: ApiError): void },
): Promise<Answer<O>> {
  for (let nth = 1; ; nth++) {
    try {
      return await callInTurn(deps, endpoint, input, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ApiError) || !error.verdict.retry || nth === tries) throw error;
      onRetry?.(error);
      const ms = Math.max(error.facts.retryAfterMs ?? 0, backoffMs(nth - 1, 500, 30_000, Math.random()));
      await delay(ms, undefined, options.signal ? { signal: options.signal } : {});
    }
  }
}
