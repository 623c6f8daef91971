import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { Failure } from '../../core/rows/pause.js';

/** What a slice failed with, whoever wrapped it. */
export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const known = cause instanceof ApplicationFailure ? cause : null;
  return { type: known?.type ?? '', message: messageOf(error), details: known?.details?.[0] };
}

/** The activity would have been tried again, had it not been cancelled meanwhile: nothing is wrong with it. */
export function endedByCancel(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}

/** The sentence of the failure itself, not "Activity task failed". */
export function messageOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The workflow fails with the activity's own type and sentence, not with "Activity task failed". */
export function toWorkflowFailure(error: ActivityFailure): Error {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(cause.message, cause.type, ...(cause.details ?? []));
}
