import { hostname } from 'node:os';
import { type Client, QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { queryNames, workflowNames } from '../../core/rows/job-names.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type { WorkerHolder } from '../../core/workflow-result-schemas.js';
import { isAlive, ownIdentity } from '../../files/process-identity.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { grpcCode } from '../temporal-server/retries-until-close.js';

/** Longest wait for the answer of a worker. */
const ANSWER_MS = 5000;
/** gRPC codes of a query without an answer: our deadline (cancelled on the SDK's native connection), or no worker polls. */
const UNANSWERED = [1, 4, 9];

/** A lock that one worker holds, or all workers of one store together. */
export interface QueueLock {
  /** Workflow id of the presence that holds the lock. */
  readonly id: string;
  /** Verb phrase for a worker that holds the lock, for messages. */
  readonly held: string;
  /** How to resolve the conflict, for messages. */
  readonly remedy: string;
}

type Whose = Pick<RuntimeConfig, 'taskQueue' | 'origin' | 'team' | 'apiKey'>;

const share = 'let both share a PostgreSQL store (SEARCHFLOW_STORE=postgres://…)';

/** Workflow id of the presence on a task queue. */
const queueLockId = (taskQueue: string) => `searchflow-worker-of-${taskQueue}`;

/** The lock of a task queue. The worker of the queue holds the lock while the worker runs. */
export function queueLockOf({ taskQueue }: Pick<Whose, 'taskQueue'>): QueueLock {
  return {
    id: queueLockId(taskQueue),
    held: `is running on the task queue ${taskQueue}. Two workers with separate journals would buy the same rows twice`,
    remedy: `Stop the other worker, give this one another task queue (SEARCHFLOW_TASK_QUEUE), or ${share}`,
  };
}

/**
 * Takes queue locks for this worker; `store`: the store that this worker shares, if any. Throws a `UsageError` that names the holder if a
 * living worker with another store holds one of the locks. Locks of dead workers are taken over. Call this function right before the worker
 * runs on `taskQueue`, because the running worker answers for its locks.
 */
export async function takeQueueLocks(
  client: Client,
  taskQueue: string,
  locks: readonly QueueLock[],
  store: string | null,
): Promise<{ leave(): Promise<void> }> {
  const me: WorkerHolder = { host: hostname(), ...ownIdentity(), since: Date.now(), store };
  const releases: (() => Promise<void>)[] = [];
  const leave = async () => {
    for (const release of releases.splice(0)) await release();
  };
  try {
    for (const lock of locks) releases.push(await take(client, taskQueue, lock, me));
  } catch (error) {
    await leave();
    throw error;
  }
  return { leave };
}

/**
 * Rejects with `UsageError` if this process cannot read what the worker of the task queue writes, because it has another data converter.
 * Without this check, a job would be bought, and its result could not be read.
 */
export async function checkDataConverter(client: Client, taskQueue: string): Promise<void> {
  await holderOf(client, queueLockId(taskQueue)).catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
  });
}

async function take(
  client: Client,
  taskQueue: string,
  lock: QueueLock,
  me: WorkerHolder,
): Promise<() => Promise<void>> {
  // The workers of a store hold a lock together until none of them answers. So a single worker does not release the lock.
  const kept = async () => undefined;
  for (;;) {
    try {
      const { firstExecutionRunId } = await client.workflow.start(workflowNames.workerPresence, {
        workflowId: lock.id,
        taskQueue,
        args: [me],
        memo: { holder: me },
        ...staticSummary(`a worker of ${taskQueue}`),
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
      const who = `PID ${pid} on ${host}, since ${new Date(since).toISOString()}, with ${store ?? 'its own folder'}`;
      throw new UsageError('task-queue-in-use', `Another worker (${who}) ${lock.held}. ${lock.remedy}`);
    }
    await end(client, lock.id, other.runId, 'its worker is dead; another one takes over');
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
  // The process of a holder on this machine is checked directly, so that a start after a crash does not wait for an answer.
  if (!store && host === hostname() && !isAlive(pid, startTime)) return false;
  try {
    const handle = client.workflow.getHandle(workflowId);
    await client.withDeadline(Date.now() + ANSWER_MS, () => handle.query(queryNames.holder));
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    // This error comes from a worker, so a worker is alive.
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
