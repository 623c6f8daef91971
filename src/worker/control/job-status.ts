import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { isUnderWay } from '../../core/rows/job.js';
import type { JobEntry, OwnedWork, WalkEntry } from '../../core/rows/job-entries.js';
import { type JobStatus, JobStopped } from '../config/runtime-types.js';
import { WalkHandle } from './event-control.js';
import { jobHandle } from './job-handle.js';

/** A server answers within milliseconds, and so does a worker that lives; who asks waits no longer than this for either. */
const ANSWER_MS = 500;
/** A worker that is busy may not answer in time; its activities tell that it lives, by heartbeats that are no older than this. */
const FRESH_BEAT_MS = 15_000;

/**
 * Where a job stands: what its workflow answers where a worker lives, else what Temporal knows of its end, else what was written
 * down when it last changed. `client`: null where no server can be asked. Takes less than a second.
 */
export async function jobStatus(
  entry: JobEntry,
  workflowId: string,
  client: Client | null,
  owned: (OwnedWork & { readonly living: readonly unknown[] }) | null,
): Promise<JobStatus> {
  const { staged, state, completed } = entry;
  const known = { job: staged.job, name: staged.name, message: null, since: null, shown: null };
  const abandoned = owned?.living.length === 0;
  const reported = client && (await askTemporal(client, entry, workflowId, abandoned));
  if (reported) return { ...known, ...reported };
  // Without its server a job can't run: what its command, or its workflow, wrote down last holds.
  if (state && state.phase !== 'running') return { ...known, message: null, ...state };
  if (abandoned) return { ...known, ...orphaned(state, null) };
  if (completed === staged.generation) return { ...known, phase: 'done' };
  return { ...known, phase: 'waiting', since: state?.since ?? null };
}

type Reported = Partial<JobStatus> & Pick<JobStatus, 'phase'>;

/** Work whose command is gone, since its last sign of life. What is known of a pause is kept: the next command begins with it. */
function orphaned(state: JobEntry['state'], lastBeat: number | null): Reported {
  return { phase: 'stopped', message: 'its command ended', since: lastBeat ?? state?.since ?? null };
}

/**
 * Null where the server does not answer in time, or knows nothing of the job. `abandoned`: the command that the work belongs to has
 * ended, so that no heartbeat of a moment ago means that it runs.
 */
async function askTemporal(
  client: Client,
  { staged, state }: JobEntry,
  workflowId: string,
  abandoned: boolean,
): Promise<Reported | null> {
  const within = <T>(ask: () => Promise<T>) => inTime(client, ask);
  const about = await within(() => client.workflow.getHandle(workflowId).describe());
  if (about === null) return null;
  const handle = jobHandle(client, staged.job, workflowId);
  if (about.status.name === 'RUNNING') {
    const begun = state?.since ?? about.startTime.getTime();
    const shown = abandoned ? null : await within(() => handle.progress());
    if (shown && isUnderWay(shown.progress.phase)) {
      const { phase, message } = shown.progress;
      return { phase, message, since: state?.phase === phase ? state.since : about.startTime.getTime(), shown };
    }
    if (state?.phase === 'paused' && (abandoned || !isFresh(about))) return { message: null, ...state };
    if (abandoned) return orphaned(state, lastBeatOf(about));
    return { phase: isFresh(about) ? 'running' : 'waiting', since: begun };
  }
  const since = about.closeTime?.getTime() ?? null;
  if (about.status.name === 'CANCELLED') return { phase: 'cancelled', since };
  const ending = await within(() => handle.ending());
  if (ending) return { ...ending, since };
  return about.status.name === 'COMPLETED' ? { phase: 'done', since } : null;
}

/** Returns what a server or worker answers in time; null without an answer. */
function inTime<T>(client: Client, ask: () => Promise<T>): Promise<T | null> {
  return client.withAbortSignal(AbortSignal.timeout(ANSWER_MS), ask).catch(() => null);
}

/** Returns the state of a walk as Temporal knows it; null without an answer. `abandoned`: the command that owned it has ended. */
export async function walkState(
  client: Client,
  { job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>,
  abandoned: boolean,
): Promise<Pick<JobStatus, 'phase' | 'since'> | null> {
  const about = await inTime(client, () => client.workflow.getHandle(workflowId).describe());
  if (about === null) return null;
  const walk = new WalkHandle(client, job, workflowId);
  if (about.status.name === 'RUNNING') {
    const since = about.startTime.getTime();
    const progress = abandoned ? null : await inTime(client, () => walk.progress());
    if (progress && isUnderWay(progress.phase)) return { phase: progress.phase, since };
    if (abandoned) return { phase: 'stopped', since: lastBeatOf(about) };
    return { phase: isFresh(about) ? 'running' : 'waiting', since };
  }
  const since = about.closeTime?.getTime() ?? null;
  if (about.status.name === 'CANCELLED') return { phase: 'cancelled', since };
  const ended = () =>
    walk.result().then(
      ({ phase }) => phase,
      (error: unknown) => (error instanceof JobStopped ? ('stopped' as const) : ('failed' as const)),
    );
  const phase = await inTime(client, ended);
  return phase && { phase, since };
}

/** Unix ms of the newest heartbeat of its activities; null without one. */
function lastBeatOf({ raw }: WorkflowExecutionDescription): number | null {
  const beats = (raw.pendingActivities ?? []).map(
    ({ lastHeartbeatTime }) => Number(lastHeartbeatTime?.seconds ?? 0) * 1000,
  );
  const last = Math.max(0, ...beats);
  return last === 0 ? null : last;
}

function isFresh(about: WorkflowExecutionDescription): boolean {
  return Date.now() - (lastBeatOf(about) ?? 0) < FRESH_BEAT_MS;
}
