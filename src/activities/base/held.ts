import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { JobProgress } from '../../core/row-job-schemas.js';
import { pieceOf } from '../../core/rows/job-ids.js';
import { queryNames, signalNames } from '../../core/rows/job-names.js';

const ASK_MS = 5000;

/**
 * Tells the workflow of a piece of work when a person pauses this activity in Temporal, and when it runs again: meanwhile the job starts no
 * other piece. Call the returned function before the activity ends in any way: it throws if the activity is paused, so that Temporal keeps it
 * open until it is unpaused.
 */
export function holding(piece: number): () => Promise<void> {
  const context = Context.current();
  const { info, cancellationSignal } = context;
  const { workflowId = '', runId } = info.workflowExecution ?? {};
  const job = () => context.client.workflow.getHandle(workflowId, runId);
  // If the signal is lost, only this piece stops.
  const tell = (name: string, which = piece) => asked(() => job().signal(name, which));
  let sent: Promise<unknown> | null = null;
  const hold = () => {
    sent ??= tell(signalNames.activityPaused);
  };
  /** Tells of all paused pieces: one that no worker runs cannot tell itself. Returns whether this activity is one of them. */
  const holdAll = async () => {
    const paused = await pausedNow(context);
    const others = paused.flatMap((id) => (id === info.activityId ? [] : (pieceOf(id) ?? [])));
    await Promise.all(others.map((one) => tell(signalNames.activityPaused, one)));
    return paused.includes(info.activityId);
  };
  const onCancel = () => {
    if (isPaused(context)) hold();
  };
  if (cancellationSignal.aborted) onCancel();
  else cancellationSignal.addEventListener('abort', onCancel, { once: true });
  // The query keeps the history of an outage short.
  const release = async () => {
    const progress = await asked(() => job().query<Pick<JobProgress, 'phase'>>(queryNames.progress));
    if (progress?.phase === 'paused') await tell(signalNames.activityUnpaused);
    await holdAll();
  };
  if (info.attempt > 1) void release();
  return async () => {
    if (!(await holdAll())) return;
    hold();
    await sent;
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
  if (asks ? (await pausedNow(context)).includes(context.info.activityId) : isPaused(context)) throw pausedFailure();
}

const pausedFailure = () => ApplicationFailure.retryable('paused in Temporal');

/** Whether a heartbeat has reported a pause. */
const isPaused = ({ cancellationDetails }: Context) =>
  cancellationDetails?.paused === true && !cancellationDetails.cancelRequested;

/** The ids of the paused activities of the workflow, also if no heartbeat has reported their pause yet. */
async function pausedNow(context: Context): Promise<readonly string[]> {
  const { info, cancellationSignal } = context;
  const { namespace, activityId, workflowExecution: execution } = info;
  if (cancellationSignal.aborted) return isPaused(context) ? [activityId] : [];
  const found = await asked(async () => {
    const { client } = context;
    return client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflowService.describeWorkflowExecution({ namespace, execution }),
    );
  });
  return found?.pendingActivities?.flatMap(({ paused, activityId: id }) => (paused && id ? [id] : [])) ?? [];
}

/** The answer of the server; null if there is none. */
async function asked<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch {
    return null;
  }
}
