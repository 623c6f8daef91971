import type { EnrichCsvInput, Freshness } from '../row-job-schemas.js';
import { transientTags } from './failure.js';

/**
 * The rules of the second pass of a run, in which failed rows are bought once more. In a warehouse `retryTags` and `retryBefore` concern
 * only rows with the mark `retry`.
 */
export interface RetryFreshness extends Freshness {
  readonly onlyMarked?: true;
}

/** Tags of the failures that `--retry-failed` buys again. They include the tag of paid answers that could not be parsed. */
export const retriedTags: readonly string[] = [...transientTags, 'RESPONSE_SHAPE'];

/**
 * Tags of the failures that are tried once more at the end of a run, if their answer cost nothing. Refusals are not among them, because
 * nothing has changed since; neither are runs that a person cancelled or that are left running.
 */
const passingTags: readonly string[] = [
  ...transientTags.filter((tag) => tag.startsWith('CRAWL_')),
  'MISSING_FROM_RESPONSE',
];

/** The failures that are tried once more at the end of a run. */
export interface RetryRule {
  readonly tags: readonly string[];
  /** Whether failures are left out whose answer had a cost. */
  readonly onlyFree: boolean;
}

/** Returns the rule for the end of a run. `redrive`: failures that were or may have been charged count, too. */
export function retryRuleOf(redrive: boolean): RetryRule {
  return redrive
    ? { tags: [...passingTags, 'UNKNOWN_OUTCOME', 'RESPONSE_SHAPE', 'RUN_FAILED', 'RUN_GONE'], onlyFree: false }
    : { tags: passingTags, onlyFree: true };
}

/** Returns the rules for answers that have already landed; undefined if all landed answers are used. `now`: Unix ms. */
export function freshnessOf(
  {
    refreshAfterMs,
    retryFailed,
    rebuy,
  }: Pick<EnrichCsvInput, 'refreshAfterMs' | 'retryFailed'> & { readonly rebuy?: boolean },
  now: number,
): Freshness | undefined {
  const freshness: Freshness = {
    freshAfter: refreshAfterMs === undefined ? undefined : now - refreshAfterMs,
    retryTags: retryFailed ? retriedTags : undefined,
    retryBefore: retryFailed ? now : undefined,
    rebuyBefore: rebuy ? now : undefined,
  };
  return Object.values(freshness).some((one) => one !== undefined) ? freshness : undefined;
}
