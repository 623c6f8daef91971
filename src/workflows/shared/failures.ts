import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow';
import { type Failure, type Said, sentenceOf } from '../../core/rows/pause.js';

/** The failure of an activity or child workflow, without Temporal's wrapper. */
const unwrapped = (error: unknown): unknown =>
  error instanceof ActivityFailure || error instanceof ChildWorkflowFailure ? error.cause : error;

/** Returns the facts of the failure itself. */
export function failureOf(error: unknown): Failure {
  const cause = unwrapped(error);
  const known = cause instanceof ApplicationFailure ? cause : null;
  return { type: known?.type ?? '', message: messageOf(error), details: known?.details?.[0] };
}

/** Whether the activity was cancelled and would otherwise have been retried. Such an activity has not failed. */
export function endedByCancel(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}

/** Returns the message of the failure itself, instead of "Activity task failed". */
export function messageOf(error: unknown): string {
  const cause = unwrapped(error);
  return cause instanceof Error ? cause.message : String(cause);
}

/** Returns the failure for a workflow, with the activity's own type; another error is returned as it is. Default: the failure's own message. */
export function toWorkflowFailure(error: unknown, said: Said<string> = { message: messageOf(error) }): unknown {
  const cause = unwrapped(error);
  if (cause === error || !(cause instanceof ApplicationFailure)) return error;
  const [facts, ...others] = cause.details ?? [];
  // Commands show the next step in another form than the message, so they get the parts.
  const details = said.next ? [{ ...(facts as object | undefined), said }, ...others] : (cause.details ?? []);
  return ApplicationFailure.nonRetryable(sentenceOf(said), cause.type, ...details);
}

/** Returns the state of a workflow for Temporal's web UI (Markdown): its title and phase, then facts, then its message. */
export function detailsText(
  title: string,
  status: Said & { readonly phase: string; readonly pausedFor?: string | null },
  facts: readonly string[] = [],
): string {
  const { phase, pausedFor } = status;
  const message = sentenceOf(status);
  const first = `${title}: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`;
  return [first, ...facts, ...(message ? [message] : [])].join('\n\n');
}
