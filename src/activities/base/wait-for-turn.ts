import { Context } from '@temporalio/activity';
import { type Grant, type Limiter, type RateCost, takeTurn } from '../../core/limiter/limiter.js';
import { waiting } from '../call/failure.js';
import type { Places } from '../call/places.js';
import { longWaitFor } from '../purchase/purchase-stats.js';
import { YIELD_AFTER_MS } from './cancellation.js';

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
