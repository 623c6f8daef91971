import { type Limiter, type RateCost, takeTurn } from '../../core/limiter/limiter.js';
import { waiting } from '../call/failure.js';
import { YIELD_AFTER_MS } from '../purchase/cancellation.js';
import { longWaitFor } from '../purchase/purchase-stats.js';

/**
 * Waits for a turn of the team's rate. Short blocks are waited for here. A long block rejects with `Waiting`, so that Temporal waits
 * instead; it is checked every second, and with `first` before the turn is asked for. `waits` gets the reason of the wait: a block, the
 * holder of the limit, or its length; null while it is short.
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
    const { blockedUntil, blockReason, heldBy = null } = await limiter.view();
    const now = Date.now();
    const ms = (blockedUntil ?? 0) - now;
    if (ms > YIELD_AFTER_MS) long.abort(waiting(ms, blockReason));
    else if (!ended)
      options.waits(ms > 0 ? (blockReason ?? 'rate limit') : (heldBy ?? longWaitFor([begun], 'turn', now)));
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
