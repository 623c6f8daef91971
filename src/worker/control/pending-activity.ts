import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { onQueue } from '../temporal-server/retries-until-close.js';

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
/** The codes of a call that a server does not know, and of work that has ended meanwhile. */
const UNIMPLEMENTED = 12;
const NOT_FOUND = 5;
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

/** Failures of activities that wait for the end of a block. */
const blocked: readonly unknown[] = ['Waiting', 'RateLimited'];

/** Passes over the work in progress. An attempt that began before the end of the block may still decide to wait for it. */
const PASS_MS = 1000;
const QUIET_PASSES = 3;
const MOST_PASSES = 15;

/**
 * Lets the activities of a task queue that wait for the end of a block make their next attempt at once. Returns whether none waits any longer;
 * Temporal servers before 1.28 cannot wake them.
 */
export async function wakeWaiting(client: Client, taskQueue: string): Promise<boolean> {
  for (let pass = 1, quiet = 0; ; pass++) {
    const { running, waiting } = await wakeOnce(client, taskQueue);
    quiet = waiting === 0 ? quiet + 1 : 0;
    if (running === 0 || quiet >= QUIET_PASSES) return true;
    if (pass >= MOST_PASSES) return false;
    await sleep(PASS_MS);
  }
}

async function wakeOnce(client: Client, taskQueue: string) {
  const { namespace, identity } = client.options;
  const query = `ExecutionStatus = 'Running' AND ${onQueue(taskQueue)}`;
  const found = { running: 0, waiting: 0 };
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    found.running++;
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    for (const { activityId, state, lastFailure, nextAttemptScheduleTime } of raw.pendingActivities ?? []) {
      const isLater = (nextAttemptScheduleTime?.seconds?.toNumber() ?? 0) > Date.now() / 1000;
      if (state !== SCHEDULED || !isLater || !blocked.includes(lastFailure?.applicationFailureInfo?.type)) continue;
      found.waiting++;
      await client.workflowService
        .resetActivity({ namespace, identity, execution: { workflowId, runId }, id: activityId })
        .catch((error: unknown) => {
          const { code } = error as { readonly code?: unknown };
          if (code !== UNIMPLEMENTED && code !== NOT_FOUND) throw error;
        });
    }
  }
  return found;
}
