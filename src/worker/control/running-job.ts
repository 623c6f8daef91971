import type { Client } from '@temporalio/client';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { RowProgress } from '../../core/rows/row-warehouse.js';
import type { JobHandle } from './job-handle.js';
import { describeWorkflow, isCancelRequested } from './pending-activity.js';

/** Facts that decide whether a job's running workflow may continue. */
export interface RunningJob {
  readonly running: Awaited<ReturnType<typeof runningFor>>;
  readonly handle: JobHandle;
  readonly staged: StagedJob;
  /** Whether the new request also asks for fresh answers or for retries of failed ones. */
  readonly asksMore: boolean;
  /** Whether other processes may be creating the warehouse at this moment. */
  readonly shared: boolean;
  /** The job's warehouse; null if another process runs the folder's worker. */
  warehouse(): RowProgress | null;
}

/**
 * Returns a sentence with the reason if the running workflow must be ended before the job is started; '' if no workflow is running; null if
 * the running workflow continues.
 */
export async function startReason(job: RunningJob): Promise<string | null> {
  const { staged, asksMore, running } = job;
  if (running === null) return '';
  if (running.isCancelled) return ENDS_FIRST;
  if (running.host !== (staged.host ?? null))
    return `Ending an earlier run of this job first, because its warehouse is a file on ${running.host}. Paid results are kept`;
  if (await warehouseGone(job))
    return 'The warehouse of this job is missing. Rebuilding it from the journal; paid results are not bought again';
  if (running.limit !== (staged.limit ?? null))
    return 'Ending an earlier run of this job first, because its --limit differs. Paid results are kept';
  if (asksMore || running.generation !== staged.generation)
    return 'Ending an earlier run of this job first, because its rows or options differ. Paid results are kept';
  return null;
}

export const ENDS_FIRST = 'An earlier run of this job was cancelled and is ended first. Paid results are kept';

/** Generation, host and limit of the running workflow, and whether it is being cancelled; null if none is running. */
export async function runningFor(client: Client, { workflowId }: Pick<JobHandle, 'workflowId'>) {
  const about = await describeWorkflow(client, workflowId);
  if (about?.status.name !== 'RUNNING') return null;
  const { generation, host = null, limit = null } = about.memo ?? {};
  return { generation, host, limit, isCancelled: isCancelRequested(about) };
}

async function warehouseGone({ handle, staged, shared, warehouse }: RunningJob): Promise<boolean> {
  const opened = warehouse();
  if (!opened) return false;
  try {
    if (shared && (await handle.progress()).progress.phase === 'planning') return false;
    return (await opened.loadedSlices(staged.job, staged.generation)) === null;
  } catch {
    // A busy or unusable warehouse was not deleted; the job itself reports the problem.
    return false;
  }
}
