import { transientTags } from './failure.js';

/** Rules for the landed answers that may be used. */
export interface Freshness {
  /** Unix ms; answers that landed before this time are bought again. */
  readonly freshAfter?: number;
  /** Failed units with one of these tags that landed before `retryBefore` (Unix ms) are bought again. */
  readonly retryTags?: readonly string[];
  readonly retryBefore?: number;
  /** Unix ms; answers that landed before this time are bought again if neither journal nor warehouse has the body of the answer. */
  readonly rebuyBefore?: number;
}

/** The request of a person or schedule for fresh answers: `--refresh-after`, `--retry-failed`, `--rebuy`. */
export interface FreshnessRequest {
  /** Null: an answer of any age is used. */
  readonly refreshAfterMs: number | null;
  readonly retryFailed: boolean;
  readonly rebuy: boolean;
}

/** Tags of the failures that `--retry-failed` buys again. They include the tag of paid answers that could not be parsed. */
export const retriedTags: readonly string[] = [...transientTags, 'RESPONSE_SHAPE'];

/** Returns the rules for answers that have already landed; undefined if all landed answers are used. `now`: Unix ms. */
export function freshnessOf(request: FreshnessRequest, now: number): Freshness | undefined {
  const freshness: Freshness = {
    ...(request.refreshAfterMs === null ? {} : { freshAfter: now - request.refreshAfterMs }),
    ...(request.retryFailed ? { retryTags: retriedTags, retryBefore: now } : {}),
    ...(request.rebuy ? { rebuyBefore: now } : {}),
  };
  return Object.keys(freshness).length > 0 ? freshness : undefined;
}
