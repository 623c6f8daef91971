import { CancelledFailure, TerminatedFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  executeChild,
  setCurrentDetails,
} from '@temporalio/workflow';
import { startedByUs } from '../core/rows/job.js';
import { pauseOf } from '../core/rows/pause.js';
import type { ScheduledJobInput, ScheduledOutcome } from '../core/schedules/schedule.js';
import { failureOf, messageOf } from './shared/failures.js';
import { publicInput } from './shared/public-input.js';

/**
 * `scheduledJob`: one run of a schedule. Runs a job as it would be run by hand, under the id that it always has, and never waits for
 * a person: what a person must mend ends it as `stopped`, and the next run goes on with what is left. Fails where the job fails.
 *
 * Start it by name with plain JSON, see `ScheduledJobInput`. Cancelling it cancels the job: paid calls in flight land.
 */
export async function scheduledJob(input: ScheduledJobInput): Promise<ScheduledOutcome> {
  const { schedule, workflow, workflowId } = publicInput('scheduledJob', [input]);
  const ended = (phase: ScheduledOutcome['phase'], message: string | null, summary: ScheduledOutcome['summary']) => {
    setCurrentDetails(`**${schedule}**: ${phase}${message === null ? '' : `\n\n${message}`}`);
    return { schedule, phase, message, summary };
  };
  setCurrentDetails(`**${schedule}**: runs \`${workflowId}\``);
  try {
    const summary = await executeChild(workflow, {
      workflowId,
      args: [{ ...input.input, scheduled: true }],
      memo: startedByUs,
      // A run that is terminated lets what was paid for land.
      parentClosePolicy: 'REQUEST_CANCEL',
    });
    const { phase = 'done', message = null } = summary as { readonly phase?: string; readonly message?: string | null };
    return ended(phase === 'stopped' ? 'stopped' : 'done', message, summary);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return ended('skipped', `${workflowId} runs already; it goes on, and the next run finds what it leaves`, null);
    if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure)) throw error;
    const { cause } = error;
    if (cause instanceof CancelledFailure || cause instanceof TerminatedFailure)
      return ended('stopped', `somebody ended ${workflowId}; the next run goes on`, null);
    const pause = pauseOf(failureOf(cause), null, null);
    if (pause) return ended('stopped', pause.message, null);
    if (!(cause instanceof ApplicationFailure)) throw error;
    throw ApplicationFailure.nonRetryable(messageOf(cause), cause.type, ...(cause.details ?? []));
  }
}
