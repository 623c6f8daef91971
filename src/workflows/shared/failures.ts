import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { Failure } from '../../core/rows/pause.js';

/** Returns the failure of an activity, without Temporal's wrapper. */
export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const known = cause instanceof ApplicationFailure ? cause : null;
  return { type: known?.type ?? '', message: messageOf(error), details: known?.details?.[0] };
}

/** Whether the activity was cancelled and would otherwise have been retried. Such an activity has not failed. */
export function endedByCancel(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}

/** Returns the message of the failure itself, instead of "Activity task failed". */
export function messageOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Returns the failure for a workflow, with the activity's own type. Default message: that of the activity's own failure. */
export function toWorkflowFailure(error: ActivityFailure, message = messageOf(error)): Error {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(message, cause.type, ...(cause.details ?? []));
}
