import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Answer } from '../../api/answer/read-answer.js';
import type { Input } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { YIELD_AFTER_MS } from '../purchase/cancellation.js';
import type { ActivityDeps } from './deps.js';
import { sendFree } from './free-call.js';

/** Failures in a row after which the activity is given back to Temporal, which waits longer. */
const MAX_TRIES = 8;

/**
 * A free call within an activity that makes many: what may pass is waited for here while the wait is short, so that an activity of
 * a hundred calls doesn't begin anew for one that failed. Rejects with the failure of the one map.
 */
export async function patiently<I, O>(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
): Promise<Answer<O>> {
  const { cancellationSignal: signal } = Context.current();
  for (let tries = 1; ; tries++) {
    try {
      return await sendFree(deps, endpoint, input);
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable || tries === MAX_TRIES) throw error;
      const asked = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : 0;
      if (asked > YIELD_AFTER_MS) throw error;
      await delay(Math.max(asked, backoffMs(tries - 1, 200, YIELD_AFTER_MS, Math.random())), undefined, { signal });
    }
  }
}
