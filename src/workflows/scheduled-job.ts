import { CancelledFailure, TerminatedFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowFailure,
  executeChild,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { jobOfWorkflow } from '../core/rows/job-ids.js';
import { pauseOf, sentenceOf } from '../core/rows/pause.js';
import { staticSummary } from '../core/text/static-summary.js';
import type { ScheduledJobInput } from '../core/workflow-input-schemas.js';
import type { ScheduledOutcome } from '../core/workflow-result-schemas.js';
import { reportState } from './alerts.js';
import { detailsText, failureOf, toWorkflowFailure } from './shared/failures.js';
import { childMemo, publicInput } from './shared/public-input.js';
import { setVersioning } from './shared/versioning.js';

const kinds = {
  enrichCsv: 'rows',
  syncEvents: 'walk',
  exportMonitorRuns: 'export',
  batchMonitors: 'batch',
  syncAgentRuns: 'walk',
} as const;

/**
 * `scheduledJob`: executes one run of a schedule. The run starts the same job as a command would, under the fixed id of the job, and never
 * waits for a person. If a person must fix a problem, the run ends as `stopped`, and the next run continues. If the job fails, the run
 * fails, too.
 *
 * Start the workflow by name with plain JSON, see `ScheduledJobInput`. A cancel also cancels the job: paid calls in flight land.
 */
export async function scheduledJob(input: ScheduledJobInput, ...extra: []): Promise<ScheduledOutcome> {
  const { schedule, workflow, workflowId } = publicInput('scheduledJob', [input], { extra });
  const ended = (phase: ScheduledOutcome['phase'], message: string | null, summary: ScheduledOutcome['summary']) => {
    setCurrentDetails(detailsText(`**${schedule}**`, { phase, message }));
    return { schedule, phase, message, summary };
  };
  setCurrentDetails(`**${schedule}**: runs \`${workflowId}\``);
  try {
    const summary = await executeChild(workflow, {
      workflowId,
      args: [{ ...input.input, scheduled: true }],
      ...staticSummary(`run of the schedule ${schedule}`),
      memo: { ...childMemo(), schedule },
      // If this run is terminated, its job is cancelled, so that paid calls still land.
      parentClosePolicy: 'REQUEST_CANCEL',
    });
    const { phase = 'done', message = null } = summary as { readonly phase?: string; readonly message?: string | null };
    return ended(phase === 'stopped' ? 'stopped' : 'done', message, summary);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return ended('skipped', `${workflowId} is already running; the next run loads the rest`, null);
    if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure)) throw error;
    const { cause } = error;
    if (cause instanceof CancelledFailure || cause instanceof TerminatedFailure)
      return ended('stopped', `${workflowId} was cancelled or terminated; the next run continues`, null);
    const failure = failureOf(error);
    const pause = pauseOf(failure, null, null);
    await reportState({
      ...{ job: jobOfWorkflow(workflowId), kind: kinds[workflow], scheduled: true, since: Date.now() },
      // The job itself may have reported its failure, under the id of its run.
      run: error.execution.runId ?? workflowInfo().runId,
      ...(pause ? { phase: 'stopped', reason: pause.reason } : { phase: 'failed', failure: failure.type }),
    });
    if (pause) return ended('stopped', sentenceOf(pause), null);
    throw toWorkflowFailure(error);
  }
}

setVersioning('moves', scheduledJob);
