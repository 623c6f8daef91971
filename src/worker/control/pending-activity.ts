import { hostname } from 'node:os';
import {
  type Client,
  type DescribeWorkflowExecutionResponse,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ApplicationFailure, type LoadedDataConverter } from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { WorkerRefusal } from '../../core/rows/warehouse-errors.js';

export interface PendingActivity {
  readonly type: string | null;
  readonly heartbeat: unknown;
  /** Why the activity waits for its next attempt; null if it does not wait. */
  readonly waitsFor: string | null;
  /** Why the last worker that had the activity cannot do it, to be reported once; null if that is not known, or this process reports it. */
  readonly refusal: string | null;
}

type ActivityInfo = NonNullable<DescribeWorkflowExecutionResponse['pendingActivities']>[number];

/** State of an activity that waits for its next attempt, in Temporal's API. */
export const SCHEDULED = 1;
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
  const { refusal = null, why = failure?.message } = factsOf(failure);
  const isOwn = refusal?.host === hostname() && refusal.pid === process.pid;
  return {
    type: activity.activityType?.name ?? null,
    heartbeat: payloads?.[0] ? await decodeFromPayloadsAtIndex(converter, 0, payloads) : null,
    waitsFor: waitsFor(activity, why, refusal, now),
    // The worker itself has reported the refusal in its own process.
    refusal: refusal === null || isOwn ? null : (failure?.message ?? null),
  };
}

function waitsFor(
  { state, nextAttemptScheduleTime, scheduledTime }: ActivityInfo,
  why: string | undefined,
  refusal: WorkerRefusal | null,
  now: number,
): string | null {
  if (state !== SCHEDULED || !why) return null;
  if (refusal !== null) return refusal.waitsFor;
  const at = nextAttemptScheduleTime ?? scheduledTime;
  const seconds = Math.ceil((at?.seconds?.toNumber() ?? 0) - now / 1000);
  return seconds < LONG_SECONDS ? why : `waiting ${seconds} s: ${why}`;
}

/** `why`: the reason of a wait, without the time. */
function factsOf(failure: Error | undefined): { readonly refusal?: WorkerRefusal | null; readonly why?: string } {
  return (failure instanceof ApplicationFailure && (failure.details?.[0] as object | null)) || {};
}

/** A workflow as its server knows it; null if the server does not know it. */
export async function describeWorkflow(
  client: Client,
  workflowId: string,
): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Whether a running workflow has a cancel that no worker has handled to its end. Servers before 1.26 do not report it. */
export function isCancelRequested({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): boolean {
  return raw.workflowExtendedInfo?.cancelRequested === true;
}
