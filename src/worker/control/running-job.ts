import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { StagedJob } from '../../core/rows/job.js';
import type { Sink } from '../../core/rows/sink.js';
import type { JobHandle } from '../config/runtime-types.js';

/** What is looked at to tell whether a job's running workflow may go on. */
export interface RunningJob {
  readonly client: Client;
  readonly handle: JobHandle;
  readonly staged: StagedJob;
  /** The person asks for what the running workflow was not told: fresh answers, failed ones again. */
  readonly asksMore: boolean;
  /** Other processes may be making the warehouse just now. */
  readonly shared: boolean;
  /** Null where another process works on the folder's jobs, and its warehouses are not ours to judge. */
  sink(): Sink | null;
}

/**
 * Why the job is to be started: a sentence that says why its running workflow is ended first, '' where none runs; null where the
 * one that runs goes on.
 */
export async function whyAnew(job: RunningJob): Promise<string | null> {
  const { staged, asksMore } = job;
  const running = await runningFor(job.client, job.handle);
  if (running === null) return '';
  if (running.host !== (staged.host ?? null))
    return `An earlier run of this job loads a file on ${running.host}; it is ended first, what it bought stays bought`;
  if (await warehouseGone(job))
    return 'The warehouse of this job is gone: it is made anew from the journal, what was bought stays bought';
  if (running.limit !== (staged.limit ?? null))
    return 'An earlier run of this job with another --limit is ended first; what it bought stays bought';
  if (asksMore || running.generation !== staged.generation)
    return 'An earlier run of this job with other contents or options is ended first; what it bought stays bought';
  return null;
}

/** What the run that goes on now was started for, or null. */
export async function runningFor(
  client: Client,
  handle: Pick<JobHandle, 'workflowId'>,
): Promise<{ generation: unknown; host: unknown; limit: unknown } | null> {
  try {
    const { status, memo } = await client.workflow.getHandle(handle.workflowId).describe();
    return status.name === 'RUNNING'
      ? { generation: memo?.generation, host: memo?.host ?? null, limit: memo?.limit ?? null }
      : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Whether the warehouse of a running job was deleted. */
async function warehouseGone({ handle, staged, shared, sink }: RunningJob): Promise<boolean> {
  const warehouse = sink();
  if (!warehouse) return false;
  try {
    if (shared && (await handle.progress()).progress.phase === 'planning') return false;
    return (await warehouse.loadedSlices(staged.job, staged.generation)) === null;
  } catch {
    // Busy or unusable is not gone; the job itself says what is wrong.
    return false;
  }
}
