/** Types of the activities that workflow code calls, without the code of the activities. */
import type { createContentsActivity } from './operations/contents.js';
import type { createReadAnswer } from './operations/landed-answers.js';
import type { OperationActivities } from './operations/operations.js';

export type { CallOptions, OperationResult, RequestShare } from './operations/buy.js';
export type { ContentsResult } from './operations/contents.js';
export type { LandedAnswers } from './operations/landed-answers.js';

/**
 * The operations as activities, for `proxyActivities<Activities>({ startToCloseTimeout: '3 minutes', heartbeatTimeout: '15 seconds' })`.
 * `operations()` of `searchflow/workflow` sets time limits and retries for you.
 */
export interface Activities extends OperationActivities {
  readonly getContents: ReturnType<typeof createContentsActivity>;
  readonly readAnswer: ReturnType<typeof createReadAnswer>;
}
