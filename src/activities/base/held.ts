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
  const onCancel = () => {
    if (isPaused(context)) hold();
  };
  if (cancellationSignal.aborted) onCancel();
  else cancellationSignal.addEventListener('abort', onCancel, { once: true });
  const before = info.heartbeatDetails as { readonly held?: unknown } | undefined;
  if (info.attempt > 1 && before?.held === true) void tell(signalNames.activityUnpaused);
  return async () => {
    if (!(await isPausedNow(context))) return;
    hold();
    await sent;
    context.heartbeat({ ...details(), held: true });
    throw pausedFailure();
  };
}

/**
 * Throws if a person has paused this activity in Temporal, so that Temporal keeps it open until it is unpaused: its next attempt finds what
 * is done. `asks`: also asks the server, because a new activity would follow, and no heartbeat reports a pause of the last second.
 */
export async function stayIfPaused(asks: boolean): Promise<void> {
  const context = Context.current();
  const { attempt, retryPolicy } = context.info;
  // Without a further attempt, the result would be lost.
  if (attempt === retryPolicy?.maximumAttempts) return;
  if (asks ? await isPausedNow(context) : isPaused(context)) throw pausedFailure();
}

const pausedFailure = () => ApplicationFailure.retryable('paused in Temporal');

/** Whether a heartbeat has reported a pause. */
const isPaused = ({ cancellationDetails }: Context) =>
  cancellationDetails?.paused === true && !cancellationDetails.cancelRequested;

/** Whether the activity is paused, also if no heartbeat has reported the pause yet. */
async function isPausedNow(context: Context): Promise<boolean> {
  const { info, cancellationSignal } = context;
  if (cancellationSignal.aborted) return isPaused(context);
  const { namespace, activityId, workflowExecution: execution } = info;
  const found = await asked(async () => {
    const { client } = context;
    return client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflowService.describeWorkflowExecution({ namespace, execution }),
    );
  });
  return found?.pendingActivities?.some((one) => one.paused && one.activityId === activityId) ?? false;
}

/** The answer of the server; null if there is none. */
async function asked<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch {
    return null;
  }
}
