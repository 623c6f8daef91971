import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Answer } from '../../api/answer/read-answer.js';
import { sendInTurn } from '../../api/in-turn.js';
import type { Input, SendOptions } from '../../api/transport.js';
import { type Endpoint, rateCostOf } from '../../api/wire/endpoint.js';
import { type Grant, type Limiter, type RateCost, takeTurn } from '../../core/limiter/limiter.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { isApiError, toFailure, waiting } from '../call/failure.js';
import type { Places } from '../call/places.js';
import { longWaitFor } from '../purchase/purchase-stats.js';
import { callHeartbeatMs, cancellation, YIELD_AFTER_MS } from './cancellation.js';
import type { ActivityDeps } from './deps.js';
import { heartbeatOfWaits, waitingFor, waitingForAnswer } from './with-heartbeat.js';

/**
 * Waits for a turn of the team's rate, and for the end of a short block. Rejects with `Waiting` during a long block, so that Temporal waits
 * instead. The block is checked every second; with `first`, also before the turn is requested. `waits` is called with the reason of a wait:
 * a block, or a long wait for a turn. While the wait is short, `waits` is called with null.
 */
export async function waitForTurn(
  limiter: Limiter,
  rateCost: RateCost,
  options: { readonly signal: AbortSignal; readonly first: boolean; waits(reason: string | null): void },
): Promise<void> {
  const long = new AbortController();
  const begun = { at: Date.now() };
  let ended = false;
  const poll = async (): Promise<void> => {
    const { blockedUntil, blockReason } = await limiter.view();
    const now = Date.now();
    const ms = (blockedUntil ?? 0) - now;
    if (ms > YIELD_AFTER_MS) long.abort(waiting(ms, blockReason));
    else if (!ended) options.waits(ms > 0 ? (blockReason ?? 'rate limit') : longWaitFor([begun], 'turn', now));
  };
  if (options.first) await poll();
  const timer = setInterval(() => void poll().catch(() => undefined), 1000);
  try {
    await takeTurn(limiter, rateCost, AbortSignal.any([options.signal, long.signal]));
  } finally {
    ended = true;
    clearInterval(timer);
  }
}

/** Waits for the turn of a single call. Rejects with `Waiting` if the turn is far; the next attempt of the activity keeps its place. */
export function ownTurn(places: Places, rateCost: RateCost, stop: AbortSignal): Promise<Grant> {
  const { cancellationSignal, info } = Context.current();
  const caller = { id: JSON.stringify(thisActivity()), isRetry: info.attempt > 1 };
  return places.turn(rateCost, caller, stop, () => !cancellationSignal.aborted);
}

/** Identifies this activity of its namespace; the value is the same in all attempts. */
export function thisActivity(): readonly (string | null)[] {
  const { workflowExecution, activityId } = Context.current().info;
  return [workflowExecution?.workflowId ?? null, workflowExecution?.runId ?? null, activityId];
}

/** Number of attempts in one activity. After these attempts Temporal retries the activity, with longer waits. */
const MAX_TRIES = 8;

/**
 * Makes one attempt at a free, repeatable call in its turn of the team's rate. The activity's heartbeats report long waits. Rejects with the
 * Temporal failure that `toFailure` returns; the failure has the delay that the service asked for. `places`: the call is the whole activity,
 * and leaves long waits to Temporal.
 */
export async function sendFree<I, O>(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  options: SendOptions = {},
  { attempt = Context.current().info.attempt, places }: { readonly attempt?: number; readonly places?: Places } = {},
): Promise<Answer<O>> {
  const { transport, limiter } = deps;
  const { cancellationSignal } = Context.current();
  const control = cancellation({});
  const heart = heartbeatOfWaits(places && callHeartbeatMs());
  const turn = (rateCost: RateCost): Promise<void> => {
    const { stop: signal } = control;
    if (!places) return waitingFor(null, (waits) => waitForTurn(limiter, rateCost, { signal, first: true, waits }));
    const acquire = () => ownTurn(places, rateCost, signal);
    return takeTurn({ acquire, start: (grant) => limiter.start(grant, signal) }, rateCost);
  };
  try {
    transport.check(endpoint, input, options);
    // The input was checked against the endpoint's types just before.
    const rateCost = rateCostOf(endpoint, input as I);
    // A cancelled call is ended at once. Only a change (PATCH) gets time to land, because an ended change could take effect after the next
    // attempt.
    const signal = endpoint.method === 'PATCH' ? control.cut : control.stop;
    return await sendInTurn(
      { limiter, rateCost, refusals: attempt - 1 },
      () => turn(rateCost),
      () => waitingForAnswer(() => transport.send(endpoint, input, { ...options, signal })),
    );
  } catch (error) {
    if (isApiError(error) && error.aborted) throw cancellationSignal.reason;
    throw toFailure(error, attempt, endpoint.retry === 'repeat', places && Number.POSITIVE_INFINITY);
  } finally {
    heart.stop();
    control.done();
  }
}

/**
 * Makes a free call in an activity that makes many calls. Retryable failures are retried here while the wait is short, so that one failure
 * does not restart an activity of a hundred calls. Rejects with the failure that `toFailure` returns.
 */
export async function sendFreeWithRetries<I, O>(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  options: SendOptions = {},
): Promise<Answer<O>> {
  const { cancellationSignal: signal, info } = Context.current();
  for (let tries = 1; ; tries++) {
    try {
      return await sendFree(deps, endpoint, input, options, { attempt: (info.attempt - 1) * MAX_TRIES + tries });
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable || tries === MAX_TRIES) throw error;
      const retryAfterMs = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : 0;
      if (retryAfterMs > YIELD_AFTER_MS) throw error;
      const ms = Math.max(retryAfterMs, backoffMs(tries - 1, 200, YIELD_AFTER_MS, Math.random()));
      await waitingFor(error.message, () => delay(ms, undefined, { signal }));
    }
  }
}

/** Like {@link sendFreeWithRetries}; returns null if the service does not know the thing. */
export async function sendUnlessGone<I, O>(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
): Promise<O | null> {
  try {
    return (await sendFreeWithRetries(deps, endpoint, input)).data;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Whether the service does not know the thing that a free call is about. */
export const isGone = (error: unknown): boolean => error instanceof ApplicationFailure && error.type === 'NotFound';
