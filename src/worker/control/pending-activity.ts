import { hostname } from 'node:os';
import type { Client, DescribeWorkflowExecutionResponse } from '@temporalio/client';
import { ApplicationFailure, type LoadedDataConverter } from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { WorkerRefusal } from '../../core/rows/row-warehouse.js';

/** An activity in progress, as the server knows it. */
export interface PendingActivity {
  readonly type: string | null;
  /** Details of the last heartbeat; null without one. */
  readonly heartbeat: unknown;
  /** Why the activity waits for its next attempt; null if it does not wait. */
  readonly waitsFor: string | null;
  /** Why the last worker that had the activity cannot do it, to be reported once; null if that is not known, or this process reports it. */
  readonly refusal: string | null;
}

type ActivityInfo = NonNullable<DescribeWorkflowExecutionResponse['pendingActivities']>[number];

/** State of an activity that waits for its next attempt, in Temporal's API. */
const SCHEDULED = 1;
/** The code of a call that a server does not know. */
const UNIMPLEMENTED = 12;
/** Waits shorter than this are not reported. */
const LONG_SECONDS = 10;

/** Decodes what the server knows of an activity. `now`: Unix ms. */
export async function pendingActivity(
  converter: LoadedDataConverter,
  activity: ActivityInfo,
  now: number,
): Promise<PendingActivity> {
  const { payloads } = activity.heartbeatDetails ?? {};
  const failure = await decodeOptionalFailureToOptionalError(converter, activity.lastFailure);
  const refusal = refusalIn(failure);
  const isOwn = refusal?.host === hostname() && refusal.pid === process.pid;
  return {
    type: activity.activityType?.name ?? null,
    heartbeat: payloads?.[0] ? await decodeFromPayloadsAtIndex(converter, 0, payloads) : null,
    waitsFor: waitsFor(activity, failure?.message, refusal, now),
    // The worker itself has reported the refusal in its own process.
    refusal: refusal === null || isOwn ? null : (failure?.message ?? null),
  };
}

function waitsFor(
  { state, nextAttemptScheduleTime, scheduledTime }: ActivityInfo,
  message: string | undefined,
  refusal: WorkerRefusal | null,
  now: number,
): string | null {
  if (state !== SCHEDULED || !message) return null;
  if (refusal !== null) return refusal.waitsFor;
  // The message of the failure names the whole wait; the time that is left replaces it.
  const why = message.replace(/^waiting \d+ s: /, '').replace(/, retry in \d+ s(?=\)$)/, '');
  const at = nextAttemptScheduleTime ?? scheduledTime;
  const seconds = Math.ceil((at?.seconds?.toNumber() ?? 0) - now / 1000);
  return seconds < LONG_SECONDS ? why : `waiting ${seconds} s: ${why}`;
}

function refusalIn(failure: Error | undefined): WorkerRefusal | null {
  if (!(failure instanceof ApplicationFailure)) return null;
  const [detail] = (failure.details ?? []) as readonly ({ readonly refusal?: WorkerRefusal } | null)[];
  return detail?.refusal ?? null;
}

/** Failures of activities that wait for the end of a block. */
const blocked: readonly unknown[] = ['Waiting', 'RateLimited'];

/**
 * Lets the activities of a task queue that wait for the end of a block make their next attempt at once. Temporal servers before 1.28 cannot do
 * that: there the activities wait for the end of the block.
 */
export async function wakeWaiting(client: Client, taskQueue: string): Promise<void> {
  const { namespace, identity } = client.options;
  const running = `ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}'`;
  for await (const { workflowId, runId } of client.workflow.list({ query: running })) {
    const about = await client.workflow.getHandle(workflowId, runId).describe();
    for (const { activityId, state, lastFailure } of about.raw.pendingActivities ?? []) {
      if (state !== SCHEDULED || !blocked.includes(lastFailure?.applicationFailureInfo?.type)) continue;
      await client.workflowService
        .resetActivity({ namespace, identity, execution: { workflowId, runId }, id: activityId })
        .catch((error: unknown) => {
          if ((error as { readonly code?: unknown }).code !== UNIMPLEMENTED) throw error;
        });
    }
  }
}
