import { Context } from '@temporalio/activity';
import type { Answer } from '../../api/answer/read-answer.js';
import type { Input, SendOptions } from '../../api/transport.js';
import { type Endpoint, rateCostOf } from '../../api/wire/endpoint.js';
import type { RateCost } from '../../core/limiter/limiter.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { blockMs } from '../../core/purchase/backoff.js';
import { isApiError, toFailure } from '../call/failure.js';
import { heartbeatFrom, stopping } from '../purchase/cancellation.js';
import type { ActivityDeps } from './deps.js';
import { waitForTurn } from './wait-for-turn.js';

/**
 * Makes one free call that may be repeated, once, in its turn of the team's rate. Rejects with the Temporal failure of the one
 * map: what may pass is retried by Temporal, after the delay that the service asked for.
 */
export async function sendFree<I, O>(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  options: SendOptions = {},
): Promise<Answer<O>> {
  const { transport, limiter } = deps;
  const { info, cancellationSignal } = Context.current();
  const control = stopping({});
  const heart = heartbeatFrom(() => null);
  let rateCost: RateCost | undefined;
  try {
    transport.check(endpoint, input, options);
    // Checked against the endpoint's types just before.
    rateCost = rateCostOf(endpoint, input as I);
    await waitForTurn(limiter, rateCost, { signal: control.stop, first: true });
    // Nothing is paid for: a cancelled call is cut at once. A change gets the time to land, so that it does not come about behind
    // the back of whoever goes on.
    const signal = endpoint.method === 'PATCH' ? control.cut : control.stop;
    const answer = await transport.send(endpoint, input, { ...options, signal });
    if (answer.queued) limiter.queued(rateCost);
    return answer;
  } catch (error) {
    if (!isApiError(error)) throw toFailure(error, info.attempt);
    if (error.aborted) throw cancellationSignal.reason;
    const { verdict, facts } = error;
    if (!verdict.blocks) throw toFailure(error, info.attempt);
    const ms = facts.retryAfterMs ?? blockMs(info.attempt - 1, Math.random());
    await limiter.block(Math.min(ms, MAX_BLOCK_MS), error.message, rateCost);
    throw toFailure(error, info.attempt);
  } finally {
    heart.stop();
    control.done();
  }
}
