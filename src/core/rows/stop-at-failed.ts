import { MOST_STOP_AFTER } from '../choices.js';
import type { OverBudget } from '../purchase/spend.js';
import type { FailureLimit, StopAtFailed } from '../row-job-schemas.js';
import { some } from '../text/count.js';

export const STOP_AFTER = 50;

/** The number of error tags that are kept with the counts; the most frequent ones. */
const TAGS_KEPT = 10;

/** The tag under which an answer without content is counted. Its row is a success. */
export const EMPTY_ANSWER = 'EMPTY_ANSWER';

/** The answers since the start of a run or its last resume, with the number of failed answers by error tag. */
export interface AnswerCounts {
  readonly answered: number;
  readonly failed: number;
  readonly tags: { readonly [tag: string]: number };
}

export const noAnswers: AnswerCounts = { answered: 0, failed: 0, tags: {} };

/** Whether a value is `none`, or a limit with a valid share and number of rows. Any other value must not mean "no limit". */
export function isFailureLimit(value: unknown): value is FailureLimit {
  if (value === 'none') return true;
  if (typeof value !== 'object' || value === null) return false;
  const { percent, after = STOP_AFTER } = value as Partial<StopAtFailed>;
  const isShare = typeof percent === 'number' && percent > 0 && percent <= 100;
  return isShare && Number.isInteger(after) && after >= 1 && after <= MOST_STOP_AFTER;
}

/**
 * Returns the limit in answers instead of rows; null for no limit. `rowsPerRun`: number of rows that share one answer. The number of rows is
 * rounded up to whole answers.
 */
export function limitInAnswers(
  limit: FailureLimit | null | undefined,
  { rowsPerRun = 1 }: { readonly rowsPerRun?: number },
): Required<StopAtFailed> | null {
  if (limit === undefined || limit === null || limit === 'none') return null;
  return { percent: limit.percent, after: Math.ceil((limit.after ?? STOP_AFTER) / rowsPerRun) };
}

export function isSameLimit(a: FailureLimit | undefined, b: FailureLimit | undefined): boolean {
  const [one, other] = [limitInAnswers(a, {}), limitInAnswers(b, {})];
  return one?.percent === other?.percent && one?.after === other?.after;
}

/** Whether enough answers came and too many of them failed. */
export function failsTooOften(
  { answered, failed }: Pick<AnswerCounts, 'answered' | 'failed'>,
  { percent, after }: Required<StopAtFailed>,
): boolean {
  return answered >= after && 100 * failed >= percent * answered;
}

export function addCounts(a: AnswerCounts, b: AnswerCounts): AnswerCounts {
  const tags = new Map(Object.entries(a.tags));
  for (const [tag, count] of Object.entries(b.tags)) tags.set(tag, (tags.get(tag) ?? 0) + count);
  const kept = [...tags].sort(([, one], [, other]) => other - one).slice(0, TAGS_KEPT);
  return { answered: a.answered + b.answered, failed: a.failed + b.failed, tags: Object.fromEntries(kept) };
}

/** Returns the limit as a phrase, such as `20% of at least 50 answers fail`. */
export function limitText({ percent, after }: Required<StopAtFailed>): string {
  return `${percent}% of at least ${some(after, 'answer')} fail`;
}

/** After so many answers in a row with nothing usable, a job pauses (`service`). */
export const NOTHING_IN_ROW = 10;
/** A job also pauses after `most` such answers among its first `of`. */
export const NOTHING_AT_FIRST = { most: 20, of: 50 } as const;
/** A request for many pages, or a run for several rows, counts as at most so many answers: a job pauses after two of them. */
export const PAGES_COUNT_AS = 5;
/** After so many consecutive polls that are answered without a run, a run is not followed. Fewer such answers may come from a proxy. */
export const ODD_POLLS = 5;

/** The answers with nothing usable that stopped a job. The last of them: `why`, a unit of it, and whether its text can be read later. */
export interface FoundNothing {
  readonly requests: number;
  readonly of: number;
  readonly why: string;
  readonly key: string;
  readonly isKept: boolean;
}

/** {@link FoundNothing} with the number of the row instead of the key; null: unknown. */
export type RowsOfNothing = Omit<FoundNothing, 'key'> & { readonly row: number | null };

/** The detail of a failure of the type `BUDGET_EXCEEDED`. */
export type OverBudgetFacts = Pick<OverBudget, 'scope' | 'capMicros' | 'remainingMicros' | 'resetsAt'> &
  Partial<Pick<OverBudget, 'multiple'>>;

/** Type of the failure after several consecutive answers of another server; nothing more is sent. */
export const SERVICE_UNRECOGNIZED = 'ServiceUnrecognized';

/**
 * Type of the failure where the service refuses the first requests of a job, or all requests of a slice, for the same reason. The detail
 * of such a failure is an {@link AllRefusedFacts}.
 */
export const ALL_REFUSED = 'AllRefused';

export type AllRefusedFacts = { readonly requests: number; readonly rows: number };
