import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { JobEntry, JobState, WalkEntry } from '../../core/job-entry-schemas.js';
import { isUnderWay, workflowNames } from '../../core/rows/job-names.js';
import { CANCEL_WAITS } from '../../core/rows/pause.js';
import { type JobStatus, UsageError } from '../config/runtime-types.js';
import { saidOfStop } from '../staging/find-job.js';
import { onQueue } from '../temporal-server/retries-until-close.js';
import { RowJobHandle, WalkHandle } from './job-handle.js';
import { describeWorkflow, isCancelRequested } from './pending-activity.js';

/** Longest wait for the server or a worker; both answer within milliseconds. */
const ANSWER_MS = 500;
/** Longest wait for the worker of a paused job; the recorded state has the same information. */
const PAUSED_ANSWER_MS = 200;
/** Age up to which a heartbeat proves that a worker is alive, although the worker may be too busy to answer. */
const FRESH_HEARTBEAT_MS = 15_000;

/** Age from which a workflow task that no worker has taken means that no worker is there. */
const UNTAKEN_MS = 3000;

type Reported = Pick<JobStatus, 'phase' | 'message' | 'next' | 'since' | 'cancelRequested' | 'shown'>;

/** `abandoned`: the command that owns the work is dead, so a recent heartbeat does not mean that the work is running. */
interface Known {
  readonly abandoned: boolean;
  readonly workerless?: boolean;
  readonly answerMs?: number | undefined;
}

/** The status of a job or a walk as Temporal knows it; null if the server does not know it, undefined if it does not answer in time. */
export async function askTemporal(
  client: Client,
  of: JobEntry | WalkEntry,
  workflowId: string,
  known: Known,
): Promise<Reported | null | undefined> {
  const about = await describe(client, workflowId);
  if (!about) return about;
  if ('stream' in of) return report(client, about, new WalkHandle(client, workflowId, of.job), known);
  return report(client, about, new RowJobHandle(client, of.staged.job, workflowId), known, of.state);
}

async function report(
  client: Client,
  about: WorkflowExecutionDescription,
  handle: RowJobHandle | WalkHandle,
  { abandoned, workerless = false, answerMs = ANSWER_MS }: Known,
  state?: JobState,
): Promise<Reported | null> {
  const unknown = { message: null, shown: null };
  if (about.status.name === 'RUNNING') {
    const startedAt = about.startTime.getTime();
    const answers = !abandoned && !workerless && !waitsForWorker(about);
    const isWorkedOn = !workerless && isFresh(about);
    const longestMs = state?.phase === 'paused' ? PAUSED_ANSWER_MS : answerMs;
    const shown = (answers && (await inTime(client, () => (handle as RowJobHandle).progress(), longestMs))) || null;
    const begun = { ...unknown, since: state?.since ?? startedAt };
    if (isCancelRequested(about)) {
      const cancelled = { ...begun, shown, cancelRequested: true } as const;
      return shown || isWorkedOn
        ? { ...cancelled, phase: 'running', message: 'it is being cancelled' }
        : { ...cancelled, phase: 'waiting', message: CANCEL_WAITS };
    }
    if (shown && isUnderWay(shown.progress.phase)) {
      const { phase, message, next } = shown.progress;
      return { phase, message, next, since: state?.phase === phase ? state.since : startedAt, shown };
    }
    if (state?.phase === 'paused') return { ...unknown, ...state };
    if (abandoned) {
      // The status begins at the last heartbeat of the work.
      const since = lastHeartbeatOf(about) ?? state?.since ?? null;
      return { ...unknown, phase: 'stopped', ...saidOfStop('command-ended', handle.job), since };
    }
    return { ...begun, phase: isWorkedOn ? 'running' : 'waiting' };
  }
  const since = about.closeTime?.getTime() ?? null;
  if (about.status.name === 'CANCELLED') {
    // Temporal does not keep the message of a cancelled job, which names runs that are left running.
    const message = (state?.phase === 'cancelled' && state.message) || null;
    return { ...unknown, phase: 'cancelled', message, since };
  }
  const { phase = null, message = null, next } = (await inTime(client, () => handle.end())) ?? {};
  return phase && { phase, message, next, since, shown: null };
}

/** Returns the answer of a server or worker; undefined if there is none within `ms`. Rejects with `UsageError` for a wrong data converter. */
function inTime<T>(client: Client, ask: () => Promise<T>, ms = ANSWER_MS): Promise<T | undefined> {
  return client.withAbortSignal(AbortSignal.timeout(ms), ask).catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
    return undefined;
  });
}

const describe = (client: Client, workflowId: string) => inTime(client, () => describeWorkflow(client, workflowId));

/** Workflow types of row jobs and, in the next line, of walks. Other workflows are not listed. */
const rowTypes: readonly string[] = [workflowNames.enrichCsv, workflowNames.runAgentRows];
const walkTypes: readonly string[] = [workflowNames.syncEvents, workflowNames.backfillEvents];
/** Most runs that are read from a task queue, and most of them that are checked for progress. */
const MOST_RUNS = 100;
const MOST_BUSY = 10;

/**
 * The ids of running jobs and walks on a task queue, newest first, also those that no worker has opened; empty if the server does not
 * answer in time.
 */
export async function runsOn(client: Client, taskQueue: string): Promise<readonly string[]> {
  const types = [...rowTypes, ...walkTypes].map((name) => `'${name}'`).join(', ');
  const query = `${onQueue(taskQueue)} AND ExecutionStatus = 'Running' AND WorkflowType IN (${types})`;
  const list = async () => {
    const found: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query, pageSize: MOST_RUNS })) {
      found.push(workflowId);
      if (found.length === MOST_RUNS) break;
    }
    return found;
  };
  return (await inTime(client, list)) ?? [];
}

/** The ids of jobs and walks on a task queue that make progress now, of the newest ones. A paused run waits only for a signal or a timer. */
export async function busyOn(client: Client, taskQueue: string): Promise<readonly string[]> {
  const newest = (await runsOn(client, taskQueue)).slice(0, MOST_BUSY);
  const all = await Promise.all(newest.map((workflowId) => describe(client, workflowId)));
  return all.flatMap((about) => {
    const { pendingActivities, pendingChildren, pendingWorkflowTask } = about?.raw ?? {};
    const isBusy = pendingActivities?.length || pendingChildren?.length || pendingWorkflowTask;
    return about && isBusy ? [about.workflowId] : [];
  });
}

/** The status of a running job or walk on a task queue that no worker has opened, by the id of its workflow; null if there is none. */
export async function askUnopened(client: Client, taskQueue: string, workflowId: string): Promise<JobStatus | null> {
  const about = await describe(client, workflowId);
  if (about?.status.name !== 'RUNNING' || about.taskQueue !== taskQueue) return null;
  const isWalk = walkTypes.includes(about.type);
  if (!isWalk && !rowTypes.includes(about.type)) return null;
  const handle = isWalk ? new WalkHandle(client, workflowId) : new RowJobHandle(client, workflowId, workflowId);
  const found = await report(client, about, handle, { abandoned: false });
  return found && { job: workflowId, name: workflowId, ...found, shown: null, isUnopened: true };
}

/** Unix ms of the newest heartbeat of the workflow's activities; null without one. */
function lastHeartbeatOf({ raw }: WorkflowExecutionDescription): number | null {
  const heartbeats = (raw.pendingActivities ?? []).map(
    ({ lastHeartbeatTime }) => Number(lastHeartbeatTime?.seconds ?? 0) * 1000,
  );
  const last = Math.max(0, ...heartbeats);
  return last === 0 ? null : last;
}

/** Whether the next step of a workflow has waited so long for a worker that a query would get no answer either. */
function waitsForWorker({ raw }: WorkflowExecutionDescription): boolean {
  const { scheduledTime, startedTime } = raw.pendingWorkflowTask ?? {};
  if (!scheduledTime || startedTime) return false;
  return Date.now() - Number(scheduledTime.seconds ?? 0) * 1000 > UNTAKEN_MS;
}

function isFresh(about: WorkflowExecutionDescription): boolean {
  return Date.now() - (lastHeartbeatOf(about) ?? 0) < FRESH_HEARTBEAT_MS;
}
