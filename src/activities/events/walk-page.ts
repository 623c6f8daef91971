import { setTimeout as delay } from 'node:timers/promises';
import type { RawList } from '../../api/answer/read-raw-list.js';
import { type EventFilter, listEventsEndpoint } from '../../api/endpoints/events.js';
import { blockAfter } from '../../api/in-turn.js';
import { rateCostOf } from '../../api/wire/endpoint.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import type { BodyMemory } from '../../core/purchase/body-memory.js';
import { YIELD_AFTER_MS } from '../base/cancellation.js';
import type { WalkDeps } from '../base/deps.js';
import { waitForTurn } from '../base/wait-for-turn.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { isApiError, MAX_MISSHAPEN } from '../call/failure.js';
import { longWaitFor } from '../purchase/purchase-stats.js';

export interface PageOptions {
  readonly signal: AbortSignal;
  readonly careful: boolean;
  /** The memory that the page is read into. */
  readonly space: BodyMemory;
  /** Called with the reason of a wait, and with null when the wait is over. */
  waits(reason: string | null): void;
}

/**
 * Requests one page in its turn of the team's rate. Retryable failures are retried here while the wait is short; longer waits are left to
 * Temporal. Rejects with `ApiError` or with the failure of a long wait.
 */
export async function fetchPage(deps: WalkDeps, query: EventFilter, options: PageOptions): Promise<RawList> {
  const { transport, limiter } = deps;
  const rateCost = rateCostOf(listEventsEndpoint, query);
  /** Number of consecutive answers of another server, and of answers of the wrong shape. */
  let [unrecognized, misshapen] = [0, 0];
  for (let attempt = 0; ; attempt++) {
    // A turn usually comes within a second, so the block is not checked before the turn is requested.
    await waitForTurn(limiter, rateCost, { ...options, first: false });
    options.waits(null);
    const request = { at: Date.now() };
    const watch = setInterval(() => options.waits(longWaitFor([request], 'request', Date.now())), 1000);
    try {
      const page = await transport.sendRawList(listEventsEndpoint, query, options).finally(() => clearInterval(watch));
      options.waits(null);
      if (page.queued) limiter.queued(rateCost);
      return page;
    } catch (error) {
      if (!isApiError(error) || error.aborted) throw error;
      const { facts, message, verdict } = error;
      if (!verdict.retry && !(facts.wrongShape && ++misshapen < MAX_MISSHAPEN)) throw error;
      unrecognized = facts.unrecognized ? unrecognized + 1 : 0;
      if (unrecognized === MAX_UNRECOGNIZED) throw new ServiceUnrecognized(error, unrecognized);
      // A new attempt by Temporal would reset the count of answers by another server. So a wait after such an answer is kept short, and
      // this attempt continues.
      const most = facts.unrecognized ? YIELD_AFTER_MS / 2 : 60_000;
      const blockedMs = await blockAfter(error, { limiter, rateCost, refusals: attempt });
      const restMs = blockedMs ?? facts.retryAfterMs ?? backoffMs(attempt, 100, most, Math.random());
      if (restMs > YIELD_AFTER_MS) throw error;
      options.waits(message);
      if (blockedMs === null) await delay(restMs, undefined, { signal: options.signal });
    }
  }
}
