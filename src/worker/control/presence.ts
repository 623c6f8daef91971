import { hostname } from 'node:os';
import { type Client, QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { queryNames, workflowNames } from '../../core/rows/job.js';
import type { WorkerHolder } from '../../core/text/presence.js';
import { isAlive, ownIdentity } from '../../files/process-identity.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import type { TakeElsewhere } from '../store/limit-owner.js';
import { teamOf } from '../store/team.js';
import { grpcCode } from '../temporal-server/server-health.js';

/** A living worker answers within this time. */
const ANSWER_MS = 5000;
/** gRPC: cut short by our deadline (the SDK's native connection says cancelled), or the server knows that nobody polls. */
const UNANSWERED = [1, 4, 9];

/** Something that only one worker may have, or all those of one store together. */
export interface QueueLock {
  /** Workflow id of its presence. */
  readonly id: string;
  /** What another worker does that has it, and what to do then. */
  readonly taken: string;
  readonly wayOut: string;
}

type Whose = Pick<RuntimeConfig, 'taskQueue' | 'origin' | 'team' | 'apiKey'>;

const share = 'let both share a PostgreSQL (the same SEARCHFLOW_STORE=postgres://…)';

/** Workflow id of the presence on a task queue. */
const queueLockId = (taskQueue: string) => `searchflow-worker-of-${taskQueue}`;

/** The place of a worker while it runs: its task queue. */
export function queueLockOf({ taskQueue }: Pick<Whose, 'taskQueue'>): QueueLock {
  return {
    id: queueLockId(taskQueue),
    taken: `works on the task queue ${taskQueue}, and two with a journal each would buy the same rows twice`,
    wayOut: `End that one, give this one a queue of its own (SEARCHFLOW_TASK_QUEUE), or ${share}`,
  };
}

/** Takes the team's whole rate limit among the workers of a Temporal server: the place of a worker while it sends. */
export function limitAmongWorkers(client: Client, config: Whose): TakeElsewhere {
  const limit: QueueLock = {
    // A hash: the id of a workflow is for everybody to see.
    id: `searchflow-limit-of-${sha256(teamOf(config)).slice(0, 24)}`,
    taken: `sends with the whole rate limit of this key at ${config.origin}`,
    wayOut: `Give each its share with --qps, or ${share}`,
  };
  return async () => {
    try {
      const { leave } = await takeQueueLocks(client, config.taskQueue, [limit], null);
      return () => leave().catch(() => undefined);
    } catch (error) {
      if (error instanceof UsageError) return { heldBy: `the rate limit: ${error.message}` };
      // A server that is away keeps nobody from what this machine agrees on.
      if (grpcCode(error) !== null) return async () => undefined;
      throw error;
    }
  };
}

/**
 * Takes places for this worker; `store` is the one it shares, if any. Throws a `UsageError` that names the other where a living one
 * has one of them, unless both share the store; what a dead one left is taken over. Call it right before the worker runs on
 * `taskQueue`, because it is the running worker that answers for it.
 */
export async function takeQueueLocks(
  client: Client,
  taskQueue: string,
  locks: readonly QueueLock[],
  store: string | null,
): Promise<{ leave(): Promise<void> }> {
  const me: WorkerHolder = { host: hostname(), ...ownIdentity(), since: Date.now(), store };
  const taken: (() => Promise<void>)[] = [];
  const leave = async () => {
    for (const end of taken.splice(0)) await end();
  };
  try {
    for (const lock of locks) taken.push(await take(client, taskQueue, lock, me));
  } catch (error) {
    await leave();
    throw error;
  }
  return { leave };
}

/** The worker that is on a task queue and alive, or one of them; null where none is. */
export async function workerOn(client: Client, taskQueue: string): Promise<WorkerHolder | null> {
  const id = queueLockId(taskQueue);
  const there = await holderOf(client, id);
  return there && (await lives(client, id, there.holder)) ? there.holder : null;
}

async function take(
  client: Client,
  taskQueue: string,
  lock: QueueLock,
  me: WorkerHolder,
): Promise<() => Promise<void>> {
  // What a store's workers have is theirs until none of them answers: no single one of them ends it.
  const kept = async () => undefined;
  for (;;) {
    try {
      const { firstExecutionRunId } = await client.workflow.start(workflowNames.workerPresence, {
        workflowId: lock.id,
        taskQueue,
        args: [me],
        memo: { holder: me },
        workflowIdConflictPolicy: 'FAIL',
      });
      return me.store ? kept : () => end(client, lock.id, firstExecutionRunId, 'the worker has ended');
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const other = await holderOf(client, lock.id);
    if (other === null) continue;
    if (me.store && other.holder.store === me.store) return kept;
    if (await lives(client, lock.id, other.holder)) {
      const { pid, host, since, store } = other.holder;
      const who = `PID ${pid} on ${host}, since ${new Date(since).toISOString()}, with ${store ?? 'a folder of its own'}`;
      throw new UsageError(`Another worker (${who}) ${lock.taken}. ${lock.wayOut}`);
    }
    await end(client, lock.id, other.runId, 'its worker is gone; another takes its place');
  }
}

async function holderOf(client: Client, workflowId: string): Promise<{ runId: string; holder: WorkerHolder } | null> {
  try {
    const { runId, memo, status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' ? { runId, holder: memo?.holder as WorkerHolder } : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

async function lives(client: Client, workflowId: string, holder: WorkerHolder): Promise<boolean> {
  const { host, pid, startTime, store } = holder;
  // On this machine its process can be looked for: after a crash nobody waits for an answer that can't come.
  if (!store && host === hostname() && !isAlive(pid, startTime)) return false;
  try {
    const handle = client.workflow.getHandle(workflowId);
    await client.withDeadline(Date.now() + ANSWER_MS, () => handle.query(queryNames.holder));
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    // One that knows no such query answers, too.
    if (error instanceof QueryNotRegisteredError) return true;
    if (UNANSWERED.includes(grpcCode(error) ?? 0)) return false;
    throw error;
  }
}

async function end(client: Client, workflowId: string, runId: string, reason: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId, runId).terminate(reason);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
