import { type Limiter, type RateCost, takeTurn } from '../../core/limiter/limiter.js';
import { waiting } from '../call/failure.js';
import { YIELD_AFTER_MS } from '../purchase/cancellation.js';

/**
 * Waits for a turn of the team's rate. A short block is sat out here, a long one is Temporal's to wait for, also one that begins
 * meanwhile: rejects with `Waiting`. It is looked for every second; with `first` before anything else, too. `waits` is told of a short
 * one.
 */
export async function waitForTurn(
  limiter: Limiter,
  rateCost: RateCost,
  options: { readonly signal: AbortSignal; readonly first: boolean; waits?(why: string | null): void },
): Promise<void> {
  const long = new AbortController();
  const poll = async (): Promise<void> => {
    const { blockedUntil, blockReason } = await limiter.view();
    const ms = (blockedUntil ?? 0) - Date.now();
    if (ms > YIELD_AFTER_MS) long.abort(waiting(ms, blockReason));
    else if (ms > 0) options.waits?.(blockReason);
  };
  if (options.first) await poll();
  const timer = setInterval(() => void poll().catch(() => undefined), 1000);
  try {
    await takeTurn(limiter, rateCost, AbortSignal.any([options.signal, long.signal]));
  } finally {
    clearInterval(timer);
  }
}
