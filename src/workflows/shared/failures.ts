import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { Failure } from '../../core/rows/pause.js';

/** The failure of an activity, without Temporal's wrapper. */
export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const known = cause instanceof ApplicationFailure ? cause : null;
  return { type: known?.type ?? '', message: messageOf(error), details: known?.details?.[0] };
}

/** Whether the activity would have been retried if it had not been cancelled: then it has not failed. */
export function endedByCancel(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}

/** The message of the failure itself, not "Activity task failed". */
export function messageOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The failure for a workflow, with the activity's own type and message (or `message`) instead of "Activity task failed". */
export function toWorkflowFailure(error: ActivityFailure, message = messageOf(error)): Error {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(message, cause.type, ...(cause.details ?? []));
}
