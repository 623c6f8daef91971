import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AlertRun, stateOfRun } from '../../core/alerts/job-alerts.js';
import { workflowIdOf } from '../../core/rows/job.js';
import type { JobEntry, JobState, Work } from '../../core/rows/job-entries.js';
import { JOB_CANCELLED } from '../../core/rows/pause.js';
import { Alerts } from '../alerts/alerts.js';
import { JobFailed, JobStopped, type RuntimeConfig } from '../config/runtime-types.js';
import { noteState } from '../staging/find-job.js';
import type { Store } from '../store/store.js';
import { resultOf } from './workflow-handle.js';

/** Statuses of workflows that Temporal ended, so that no activity could report or record the end of their run. */
const ends: Readonly<Record<string, { readonly failure: string; readonly message: string }>> = {
  TERMINATED: { failure: 'Terminated', message: 'its workflow was terminated in Temporal' },
  TIMED_OUT: { failure: 'TimedOut', message: 'its workflow has timed out in Temporal' },
};

interface Parts {
  readonly store: Pick<Store, 'entries'>;
  readonly config: Pick<RuntimeConfig, 'alerts' | 'origin' | 'taskQueue' | 'say'>;
}

/**
 * Reports a run of `work` that ended in Temporal after `since` (Unix ms), and returns the state that it left. Null if the run goes on, or
 * ended by itself. The alert has one id, so several processes may report the same end.
 */
async function reportEnd(
  { config }: Parts,
  client: Client,
  { workflowId, ...work }: Work & Pick<AlertRun, 'kind' | 'scheduled'>,
  since: number,
): Promise<JobState | null> {
  const handle = client.workflow.getHandle(workflowId);
  const about = await handle.describe().catch(unlessUnknown);
  const end = about && ends[about.status.name];
  const endedAt = about?.closeTime?.getTime() ?? 0;
  if (!about || !end || endedAt <= since) return null;
  const stopped = await resultOf(handle, JOB_CANCELLED).then(() => null, unlessStopped);
  const run = about.raw.workflowExecutionInfo?.firstRunId || about.runId;
  const { phase, message, ...failure } =
    stopped === null ? ({ phase: 'failed', ...end } as const) : ({ phase: 'stopped', message: stopped } as const);
  const fact = stateOfRun({ ...work, run, origin: config.origin }, { phase, ...failure, since: endedAt });
  await new Alerts(config, async () => client).note([fact]);
  return { phase, message, since: endedAt };
}

/** Reports the end of a job whose workflow Temporal ended, and returns the state that it left. Null for any other job. */
export function reportEndOfJob(parts: Parts, client: Client, entry: JobEntry): Promise<JobState | null> {
  const { staged, state, schedule, workflowId = workflowIdOf(staged.job) } = entry;
  const work = { job: staged.job, workflowId, kind: 'rows', scheduled: schedule !== undefined } as const;
  return reportEnd(parts, client, work, state.since);
}

/** Reports and records the end of a job whose workflow Temporal ended. Does nothing for any other job. */
export async function noteEndOfJob(parts: Parts, client: Client, entry: JobEntry): Promise<void> {
  const { staged } = entry;
  const end = await reportEndOfJob(parts, client, entry);
  // The state comes last: if this process dies first, the next worker reports the same alert.
  if (end !== null) await noteState(parts.store.entries, staged, end);
}

/** Reports the end of a walk whose workflow Temporal ended. Does nothing for any other name. */
export async function noteEndOfWalk(parts: Parts, client: Client, job: string): Promise<void> {
  const walk = (await parts.store.entries.walks()).find((one) => one.job === job);
  if (walk) await reportEnd(parts, client, { ...walk, kind: 'walk', scheduled: false }, 0);
}

/** The reason of a workflow that a command terminated; null for another end. */
function unlessStopped(error: unknown): string | null {
  if (error instanceof JobStopped) return error.message;
  if (error instanceof JobFailed) return null;
  throw error;
}

function unlessUnknown(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
}
