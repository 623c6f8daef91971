import type { DescribeWorkflowExecutionResponse } from '@temporalio/client';

type PendingActivity = NonNullable<DescribeWorkflowExecutionResponse['pendingActivities']>[number];

/** State of an activity that waits for its next attempt, in Temporal's API. */
const SCHEDULED = 1;
/** Waits shorter than this are not reported. */
const LONG_SECONDS = 10;

/** Why an activity waits for its next attempt, and how many seconds from `now` (Unix ms); null if it does not wait. */
export function waitsFor(
  { state, lastFailure, nextAttemptScheduleTime, scheduledTime }: PendingActivity,
  now: number,
): string | null {
  const message = lastFailure?.message;
  if (state !== SCHEDULED || !message) return null;
  // The message of the failure names the whole wait; the time that is left replaces it.
  const why = message.replace(/^waiting \d+ s: /, '').replace(/, retry in \d+ s(?=\)$)/, '');
  const at = nextAttemptScheduleTime ?? scheduledTime;
  const seconds = Math.ceil((at?.seconds?.toNumber() ?? 0) - now / 1000);
  return seconds < LONG_SECONDS ? why : `waiting ${seconds} s: ${why}`;
}
