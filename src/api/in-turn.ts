import type { Limiter, RateCost } from '../core/limiter/limiter.js';
import { blockMs } from '../core/purchase/backoff.js';
import { ApiError } from './wire/errors.js';

/** What a failed call means for the team's rate. */
export interface Blocking {
  readonly limiter: Pick<Limiter, 'block' | 'queued'>;
  readonly rateCost: RateCost;
  /** Number of refusals in a row before this call. */
  readonly refusals: number;
  /** In [0, 1); default random. */
  readonly chance?: number;
}

/**
 * After an error that blocks, makes all calls of the team wait: for the time that the service names, or else for a time that doubles with
 * each refusal. Returns that time in ms; null if the error does not block.
 */
export async function blockAfter(error: unknown, blocking: Blocking): Promise<number | null> {
  if (!(error instanceof ApiError) || !error.verdict.blocks) return null;
  const { limiter, rateCost, refusals, chance = Math.random() } = blocking;
  const ms = error.facts.retryAfterMs ?? blockMs(refusals, chance);
  await limiter.block(ms, error.message, rateCost);
  return ms;
}

/** Makes one attempt at a call after `turn`, its wait for the team's rate. If the service asks for a pause, all calls of the team wait. */
export async function sendInTurn<A extends { readonly queued: boolean | null }>(
  blocking: Blocking,
  turn: () => Promise<unknown>,
  send: () => Promise<A>,
): Promise<A> {
  await turn();
  try {
    const answer = await send();
    if (answer.queued) blocking.limiter.queued(blocking.rateCost);
    return answer;
  } catch (error) {
    await blockAfter(error, blocking);
    throw error;
  }
}
