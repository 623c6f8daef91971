import { type Client, defaultPayloadConverter, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import {
  type JobProgress,
  type JobSummary,
  queryNames,
  type Resumption,
  type SliceHeartbeat,
  signalNames,
  workflowIdOf,
} from '../../core/rows/job.js';
import { JOB_CANCELLED } from '../../core/rows/pause.js';
import { shellWord } from '../../core/text/shell-word.js';
import { JobFailed, type JobHandle, JobStopped, UsageError } from '../config/runtime-types.js';
import { waitsFor } from './waits-for.js';
import { cancelLive, resultOf } from './workflow-handle.js';

/** Statuses of a workflow that ended without success; `CANCELLED` is not one of these. */
const badEnds = ['FAILED', 'TERMINATED', 'TIMED_OUT'];

/** Heartbeat shown for a waiting activity that is not a slice. */
const noSlice: SliceHeartbeat = { slice: 0, units: 0, landed: 0, failed: 0, costMicros: 0, waitingFor: null };

/** Longest wait for the answer of a cancelled job about its agent runs. */
const LEFT_MS = 2000;

/** Longest wait for the answer of a worker. */
const ANSWER_MS = 10_000;

/** Handle of a job's workflow. `schedule`: the schedule that started the job's last run. */
export function jobHandle(client: Client, job: string, workflowId = workflowIdOf(job), schedule?: string): JobHandle {
  const handle: WorkflowHandle = client.workflow.getHandle(workflowId);
  const result = () =>
    resultOf<JobSummary>(handle, JOB_CANCELLED, job).catch((error: unknown) => withRunsLeft(client, handle, error));
  /** Runs work that needs a running workflow; turns "workflow not found" into a `UsageError` with the state of the job. */
  const whileItRuns = async (verb: 'pause' | 'resume' | 'cancel', work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      throw new UsageError(notRunningText(job, verb, await endOf(handle), schedule));
    }
  };
  return {
    job,
    workflowId,
    progress: async () => {
      const deadline = Date.now() + ANSWER_MS;
      // The heartbeats are read last: a slice that ends between the two reads is missing for a moment, but never counted twice.
      const progress = await client.withDeadline(deadline, () => handle.query<JobProgress>(queryNames.progress));
      const running = await client.withDeadline(deadline, () => heartbeats(handle));
      return { progress, running };
    },
    pause: () => whileItRuns('pause', () => handle.signal(signalNames.pause)),
    resume: (how) =>
      whileItRuns('resume', () =>
        how === undefined ? handle.signal(signalNames.resume) : handle.signal<[Resumption]>(signalNames.resume, how),
      ),
    cancel: ({ handOver = false } = {}) =>
      whileItRuns('cancel', async () => {
        if (handOver) await handle.signal(signalNames.handOver);
        await cancelLive(handle);
      }),
    result,
    ending: async () => {
      const { status } = await handle.describe();
      if (status.name !== 'COMPLETED' && !badEnds.includes(status.name)) return null;
      return result().then(
        ({ phase, message }) => (phase === 'stopped' ? { phase, message: message ?? 'no reason was recorded' } : null),
        (error: unknown) => ({
          phase: error instanceof JobStopped ? ('stopped' as const) : ('failed' as const),
          message: error instanceof Error ? error.message : String(error),
        }),
      );
    },
  };
}

/** Adds to the error of a cancelled job the agent runs that were left running; needs a worker. */
async function withRunsLeft(client: Client, handle: WorkflowHandle, error: unknown): Promise<never> {
  if (!(error instanceof JobFailed && error.message === JOB_CANCELLED)) throw error;
  const { message } = await client
    .withDeadline(Date.now() + LEFT_MS, () => handle.query<JobProgress>(queryNames.progress))
    .catch(() => ({ message: null }));
  throw message?.includes('left running') ? new JobFailed(message, { cause: error.cause, job: error.job }) : error;
}

/** How a workflow ended; null if that is not known, as for a job that was never started on this server. */
async function endOf(handle: WorkflowHandle): Promise<'done' | 'stopped' | 'cancelled' | 'failed' | null> {
  try {
    const { status } = await handle.describe();
    if (status.name === 'CANCELLED') return 'cancelled';
    return (await resultOf<JobSummary>(handle, JOB_CANCELLED)).phase === 'stopped' ? 'stopped' : 'done';
  } catch (error) {
    if (error instanceof JobStopped) return 'stopped';
    return error instanceof JobFailed ? 'failed' : null;
  }
}

function notRunningText(
  job: string,
  verb: string,
  end: Awaited<ReturnType<typeof endOf>>,
  schedule: string | undefined,
): string {
  if (end === 'done') return `${job} is done; there is nothing to ${verb}.`;
  const state = { stopped: 'is stopped', cancelled: 'is cancelled', failed: 'failed' };
  const how =
    schedule === undefined
      ? `To resume it:\n  searchflow resume ${shellWord(job)}`
      : `To run it now:\n  searchflow schedule trigger ${shellWord(schedule)}`;
  return `${job} ${end === null ? 'is not running' : state[end]}. ${how}`;
}

/**
 * Heartbeats of the running slices, and the reasons of activities that wait for their next attempt; the workflow itself has no access to
 * either.
 */
async function heartbeats(handle: WorkflowHandle): Promise<SliceHeartbeat[]> {
  const { raw } = await handle.describe();
  const found: SliceHeartbeat[] = [];
  for (const activity of raw.pendingActivities ?? []) {
    const slices = activity.activityType?.name === 'enrichSlice';
    const payload = slices ? activity.heartbeatDetails?.payloads?.[0] : null;
    const heartbeat = payload ? defaultPayloadConverter.fromPayload<SliceHeartbeat>(payload) : null;
    const failed = waitsFor(activity, Date.now());
    if (failed) found.push({ ...(heartbeat ?? noSlice), waitingFor: failed });
    else if (heartbeat) found.push(heartbeat);
  }
  return found;
}
