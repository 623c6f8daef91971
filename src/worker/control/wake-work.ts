import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { grpcCode, NOT_FOUND, onQueue } from '../temporal-server/retries-until-close.js';
import { describeWorkflow, SCHEDULED } from './pending-activity.js';

/** State of an activity that a worker has, in Temporal's API. */
const STARTED = 2;
/** The codes of a call that a server does not know, and of work that has ended meanwhile. */
const UNIMPLEMENTED = 12;

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
  const found = { running: 0, waiting: 0 };
  for await (const { execution, pending } of runningOn(client, taskQueue)) {
    found.running++;
    for (const { activityId, state, lastFailure, nextAttemptScheduleTime } of pending) {
      const isLater = (nextAttemptScheduleTime?.seconds?.toNumber() ?? 0) > Date.now() / 1000;
      if (state !== SCHEDULED || !isLater || !blocked.includes(lastFailure?.applicationFailureInfo?.type)) continue;
      found.waiting++;
      await unlessEnded(client.workflowService.resetActivity({ namespace, identity, execution, id: activityId }));
    }
  }
  return found;
}

/** Longest time, in ms, for passing on the work of a killed worker. */
const PASS_ON_MS = 2000;

/**
 * Passes the work of killed workers to the next one, which otherwise gets it after the time limits of heartbeats and of the sticky task queue.
 * `identityEnd`: the end of the identity of these workers, none of which may be alive. What fails continues after its time limit.
 */
export async function passOnWork(client: Client, taskQueue: string, identityEnd: string): Promise<void> {
  const { namespace, identity } = client.options;
  const service = client.workflowService;
  const applicationFailureInfo = { nextRetryDelay: { nanos: 1e6 } };
  const failure = { message: 'the worker of this attempt has ended', applicationFailureInfo };
  const passOn = async () => {
    for await (const { execution, pending } of runningOn(client, taskQueue)) {
      await unlessEnded(service.resetStickyTaskQueue({ namespace, execution }));
      for (const { activityId, state, lastWorkerIdentity } of pending)
        if (state === STARTED && lastWorkerIdentity?.endsWith(identityEnd))
          await unlessEnded(
            service.respondActivityTaskFailedById({ namespace, identity, ...execution, activityId, failure }),
          );
    }
  };
  await client.withDeadline(Date.now() + PASS_ON_MS, passOn).catch(() => undefined);
}

async function* runningOn(client: Client, taskQueue: string) {
  const query = `ExecutionStatus = 'Running' AND ${onQueue(taskQueue)}`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const about = await describeWorkflow(client, workflowId);
    if (about?.runId === runId) yield { execution: { workflowId, runId }, pending: about.raw.pendingActivities ?? [] };
  }
}

/** A call about work that may end in the meantime, or that the server may not know. */
async function unlessEnded(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    const code = grpcCode(error);
    if (code !== UNIMPLEMENTED && code !== NOT_FOUND) throw error;
  });
}
