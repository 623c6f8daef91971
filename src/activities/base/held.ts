import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { signalNames } from '../../core/rows/job.js';

const ASK_MS = 5000;

/**
 * Tells the workflow of a piece of work when a person pauses this activity in Temporal, and when it runs again: meanwhile the job starts no
 * other piece. `details`: those of the heartbeats. Call the returned function before the activity ends in any way: it throws if the activity
 * is paused, so that Temporal keeps it open until it is unpaused.
 */
export function holding(piece: number, details: () => object): () => Promise<void> {
  const context = Context.current();
  const { info, cancellationSignal } = context;
  const { workflowId = '', runId } = info.workflowExecution ?? {};
  // If the signal is lost, only this piece stops.
  const tell = async (name: string) =>
    asked(async () => context.client.workflow.getHandle(workflowId, runId).signal(name, piece));
  let sent: Promise<unknown> | null = null;
  const hold = () => {
    sent ??= tell(signalNames.activityPaused);
  };
  const isHeld = () => context.cancellationDetails?.paused === true && !context.cancellationDetails.cancelRequested;
  const onCancel = () => {
    if (isHeld()) hold();
  };
  if (cancellationSignal.aborted) onCancel();
  else cancellationSignal.addEventListener('abort', onCancel, { once: true });
  const before = info.heartbeatDetails as { readonly held?: unknown } | undefined;
  if (info.attempt > 1 && before?.held === true) void tell(signalNames.activityUnpaused);
  /** Whether the server knows of a pause that no heartbeat has reported yet. */
  const isPausedThere = async () => {
    const { client } = context;
    const execution = { workflowId, runId };
    const found = await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflowService.describeWorkflowExecution({ namespace: info.namespace, execution }),
    );
    return found.pendingActivities?.some(({ activityId, paused }) => paused && activityId === info.activityId);
  };
  return async () => {
    if (!cancellationSignal.aborted && (await asked(isPausedThere))) hold();
    if (sent === null || context.cancellationDetails?.cancelRequested) return;
    await sent;
    context.heartbeat({ ...details(), held: true });
    throw ApplicationFailure.retryable('paused in Temporal');
  };
}

/** The answer of the server; null if there is none. */
async function asked<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch {
    return null;
  }
}
