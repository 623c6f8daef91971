import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { type AlertRun, stateOfRun } from '../../core/alerts/job-alerts.js';
import { workflowIdOf } from '../../core/rows/job.js';
import type { JobEntry, JobState, Work } from '../../core/rows/job-entries.js';
import { alertBook } from '../alerts/alert-book.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { noteState } from '../staging/find-job.js';
import type { Store } from '../store/store.js';

/** Prefix of the reason of a workflow that a command terminated because it could not stop by itself. */
export const STOPPED = 'stopped: ';

/** Statuses of workflows that Temporal ended, so that no activity could report or record the end of their run. */
const ends: Readonly<Record<string, { readonly failure: string; readonly message: string }>> = {
  TERMINATED: { failure: 'Terminated', message: 'its workflow was terminated in Temporal' },
  TIMED_OUT: { failure: 'TimedOut', message: 'its workflow has timed out in Temporal' },
};

interface Parts {
  readonly store: Pick<Store, 'entries' | 'alerts'>;
  readonly config: Pick<RuntimeConfig, 'alerts' | 'origin'>;
}

/**
 * Reports a run of `work` that ended in Temporal after `since` (Unix ms), and returns the state that it left. Null if the run goes on, or
 * ended by itself. The alert has one id, so several processes may report the same end.
 */
async function reportEnd(
  { store, config: { alerts, origin } }: Parts,
  client: Client,
  { workflowId, ...work }: Work & Pick<AlertRun, 'kind' | 'scheduled'>,
  since: number,
): Promise<JobState | null> {
  const handle = client.workflow.getHandle(workflowId);
  const about = await handle.describe().catch(unlessUnknown);
  const end = about && ends[about.status.name];
  const endedAt = about?.closeTime?.getTime() ?? 0;
  if (!about || !end || endedAt <= since) return null;
  const reason = await handle.result().then(
    () => '',
    (error: unknown) => (error instanceof WorkflowFailedError ? (error.cause?.message ?? '') : ''),
  );
  const run = about.raw.workflowExecutionInfo?.firstRunId || about.runId;
  const state: JobState = reason.startsWith(STOPPED)
    ? { phase: 'stopped', message: reason.slice(STOPPED.length), since: endedAt }
    : { phase: 'failed', message: end.message, since: endedAt };
  const { phase } = state as { readonly phase: 'stopped' | 'failed' };
  const failure = phase === 'failed' ? { failure: end.failure } : {};
  await alertBook(store.alerts, alerts).note([
    stateOfRun({ ...work, run, origin }, { phase, ...failure, since: endedAt }),
  ]);
  return state;
}

/** Reports and records the end of a job whose workflow Temporal ended. Does nothing for any other job. */
export async function noteEndOfJob(parts: Parts, client: Client, entry: JobEntry): Promise<void> {
  const { staged, state, schedule, workflowId = workflowIdOf(staged.job) } = entry;
  const work = { job: staged.job, workflowId, kind: 'rows', scheduled: schedule !== undefined } as const;
  const end = await reportEnd(parts, client, work, state.since);
  // The state comes last: if this process dies first, the next worker reports the same alert.
  if (end !== null) await noteState(parts.store.entries, staged, end);
}

/** Reports the end of a walk whose workflow Temporal ended. Does nothing for any other name. */
export async function noteEndOfWalk(parts: Parts, client: Client, job: string): Promise<void> {
  const walk = (await parts.store.entries.walks()).find((one) => one.job === job);
  if (walk) await reportEnd(parts, client, { ...walk, kind: 'walk', scheduled: false }, 0);
}

function unlessUnknown(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
}
