import type { EnrichCsvInput, Freshness } from '../row-job-schemas.js';
import { type FailureTag, failureTags } from './failure-tags.js';

/**
 * The rules of the second pass of a run, in which failed rows are bought once more. In a warehouse `retryTags` and `retryBefore` concern
 * only rows with the mark `retry`.
 */
export interface RetryFreshness extends Freshness {
  readonly onlyMarked?: true;
}

/** The failures that are tried once more at the end of a run. */
export interface RetryRule {
  readonly tags: readonly string[];
  /** Whether failures are left out whose answer had a cost. */
  readonly onlyFree: boolean;
}

/** The tags of failures that are bought again at these times, see `FailureTag.again`. */
const tagsAgain = (...times: readonly FailureTag['again'][]): readonly string[] =>
  Object.entries<FailureTag>(failureTags)
    .filter(([, { again }]) => again !== undefined && times.includes(again))
    .map(([tag]) => tag);

/** Tags of the failures that `--retry-failed` buys again. */
export const retriedTags = tagsAgain('pass', 'redrive', 'asked');

/** Returns the rule for the end of a run. `redrive`: failures that were or may have been charged count, too. */
export const retryRuleOf = (redrive: boolean): RetryRule =>
  redrive ? { tags: tagsAgain('pass', 'redrive'), onlyFree: false } : { tags: tagsAgain('pass'), onlyFree: true };

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
