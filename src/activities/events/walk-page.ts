import { setTimeout as delay } from 'node:timers/promises';
import type { RawList } from '../../api/answer/read-raw-list.js';
import { type EventFilter, listEventsEndpoint } from '../../api/endpoints/events.js';
import type { BodyMemory } from '../../api/wire/body-memory.js';
import { rateCostOf } from '../../api/wire/endpoint.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { backoffMs, blockMs } from '../../core/purchase/backoff.js';
import type { WalkDeps } from '../base/deps.js';
import { waitForTurn } from '../base/wait-for-turn.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { isApiError } from '../call/failure.js';
import { YIELD_AFTER_MS } from '../purchase/cancellation.js';
import { longWaitFor } from '../purchase/purchase-stats.js';

export interface PageOptions {
  readonly signal: AbortSignal;
  readonly careful: boolean;
  /** Where the page may be put. */
  readonly memory: BodyMemory;
  /** Told what is waited for, and when no more. */
  waits(what: string | null): void;
}

/**
 * Asks for one page in its turn of the team's rate. What may pass is sat out and asked again, as long as the wait is short; a
 * longer one is Temporal's. Rejects with `ApiError` or the failure to wait.
 */
export async function fetchPage(deps: WalkDeps, query: EventFilter, options: PageOptions): Promise<RawList> {
  const { transport, limiter } = deps;
  const rateCost = rateCostOf(listEventsEndpoint, query);
  /** Answers in a row that were not the service's. */
  let unrecognized = 0;
  for (let attempt = 0; ; attempt++) {
    // Who gets a turn within a second need not look.
    await waitForTurn(limiter, rateCost, { ...options, first: false });
    options.waits(null);
    const asked = { at: Date.now() };
    const watch = setInterval(() => options.waits(longWaitFor([asked], 'request', Date.now())), 1000);
    try {
      const page = await transport.sendRawList(listEventsEndpoint, query, options).finally(() => clearInterval(watch));
      options.waits(null);
      if (page.queued) limiter.queued(rateCost);
      return page;
    } catch (error) {
      if (!isApiError(error) || error.aborted || !error.verdict.retry) throw error;
      const { verdict, facts, message } = error;
      unrecognized = facts.unrecognized ? unrecognized + 1 : 0;
      if (unrecognized === MAX_UNRECOGNIZED) throw new ServiceUnrecognized(error, unrecognized);
      const random = Math.random();
      // What is counted here must not be handed to Temporal in between.
      const most = facts.unrecognized ? YIELD_AFTER_MS / 2 : 60_000;
      const restMs =
        facts.retryAfterMs ?? (verdict.blocks ? blockMs(attempt, random) : backoffMs(attempt, 100, most, random));
      if (verdict.blocks) await limiter.block(Math.min(restMs, MAX_BLOCK_MS), message, rateCost);
      if (restMs > YIELD_AFTER_MS) throw error;
      options.waits(message);
      if (!verdict.blocks) await delay(restMs, undefined, { signal: options.signal });
    }
  }
}
