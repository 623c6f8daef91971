import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { WalkHeartbeat } from '../../core/events/walk-job.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { JobProgress, JobSummary, Resumption, SliceHeartbeat } from '../../core/row-job-schemas.js';
import { newHeartbeat } from '../../core/rows/job.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { type JobPhase, queryNames, signalNames } from '../../core/rows/job-names.js';
import { nextText, type Said, toContinue } from '../../core/rows/pause.js';
import type { RowProgress } from '../../core/rows/row-warehouse.js';
import type { WalkProgress, WalkSummary } from '../../core/workflow-result-schemas.js';
import { JobFailed, type ShownProgress, UsageError } from '../config/runtime-types.js';
import { saidOfStop } from '../staging/find-job.js';
import { describeWorkflow, isCancelRequested, type PendingActivity } from './pending-activity.js';
import { endOf, resultOf, WorkflowHandle } from './workflow-handle.js';

const noSlice = newHeartbeat(0);
const noWindow: WalkHeartbeat = { window: 0, pages: 0, waitingFor: null };

/** Longest wait for the answer of a cancelled job about its agent runs. */
const LEFT_MS = 2000;

const phases = { stopped: 'stopped', cancelled: 'cancelled', failed: 'failed', terminated: 'failed' } as const;

/** How and why a job ended. `phase`: null if the server does not know the job. */
type JobEnd = Said & { readonly phase: 'done' | 'stopped' | 'cancelled' | 'failed' | null };

abstract class PausableHandle<
  Progress,
  Heartbeat extends { readonly waitingFor: string | null },
  Summary extends { readonly phase: JobPhase; readonly message?: string | null },
> extends WorkflowHandle<ShownProgress<Progress, Heartbeat>, Summary> {
  /** Throws `UsageError` if no process works on the job. `isAbandoned`: the command that owned the job has ended, and nothing runs it. */
  async pause({ isAbandoned = false } = {}): Promise<void> {
    const about = await this.#refuseCancelled('pause');
    if (isAbandoned && about.status.name === 'RUNNING')
      throw new UsageError(
        'job-not-running',
        `${this.job} is stopped: ${saidOfStop('command-ended', this.job).message}. ${this.wayToResume()}`,
      );
    await this.signal(signalNames.pause);
  }

  /** Resumes the work; may change or remove the cap of a job. */
  async resume(how?: Resumption): Promise<void> {
    await this.#refuseCancelled('resume');
    await this.signal(signalNames.resume, ...(how === undefined ? [] : [how]));
  }

  /** The sentence with the command that runs the work again after it has ended. */
  wayToResume(): string {
    return nextText(toContinue(this.job));
  }

  /** Throws `UsageError` if the work is being cancelled: its workflow would accept the signal and do nothing. */
  async #refuseCancelled(verb: string): Promise<WorkflowExecutionDescription> {
    const about = await this.known(() => this.temporal.describe(), verb);
    if (about.status.name === 'RUNNING' && isCancelRequested(about))
      throw new UsageError('job-not-running', `${this.job} is being cancelled; there is nothing to ${verb}.`);
    return about;
  }

  /** How and why the workflow ended; null if it is running. Needs no worker. */
  async end(): Promise<JobEnd | null> {
    try {
      if ((await this.temporal.describe()).status.name === 'RUNNING') return null;
      const end = await endOf<Summary>(this.workflowId, this.temporal.result());
      if (end.how !== 'completed') return { phase: phases[end.how], message: null, ...end.said };
      const { phase, message } = end.result;
      if (phase === 'stopped') return { phase, message: message ?? 'no reason was recorded' };
      return { phase: 'done', message: null };
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      return { phase: null, message: null };
    }
  }

  protected abstract heartbeatOf(activity: PendingActivity): Heartbeat | null;

  protected override async read(): Promise<ShownProgress<Progress, Heartbeat>> {
    // The heartbeats are read last: a slice or window that ends between the two reads is missing for a moment, but never counted twice.
    const progress = await this.temporal.query<Progress>(queryNames.progress);
    const activities = await this.activities();
    const running = activities.flatMap((activity) => {
      const heartbeat = this.heartbeatOf(activity);
      return heartbeat ? [{ ...heartbeat, waitingFor: activity.waitsFor ?? heartbeat.waitingFor ?? null }] : [];
    });
    const refusals = new Set(activities.map(({ refusal }) => refusal).filter((refusal) => refusal !== null));
    return { progress, running, refusals: [...refusals] };
  }
}

export class WalkHandle extends PausableHandle<WalkProgress, WalkHeartbeat, WalkSummary> {
  protected heartbeatOf({ heartbeat }: PendingActivity): WalkHeartbeat {
    // The sums do not contain the counts of a failed attempt, so these counts are shown until the next attempt reports its own.
    return (heartbeat as WalkHeartbeat | null) ?? noWindow;
  }
}

/** What commands add to the handle of a job. */
interface JobSteps {
  readonly schedule?: string;
  /** Takes the result of the job; adds the steps of a command at the end of the job. */
  readonly finish?: (result: Promise<JobSummary>) => Promise<JobSummary>;
  /** Runs after a cancel; `since`: the time of the cancel in Unix ms. */
  readonly cancelled?: (since: number) => Promise<void>;
}

export class RowJobHandle extends PausableHandle<JobProgress, SliceHeartbeat, JobSummary> {
  readonly #steps: JobSteps;

  constructor(client: Client, job: string, workflowId = workflowIdOf(job), steps: JobSteps = {}) {
    super(client, workflowId, job);
    this.#steps = steps;
  }

  with(steps: JobSteps): RowJobHandle {
    return new RowJobHandle(this.client, this.job, this.workflowId, { ...this.#steps, ...steps });
  }

  /** Cancels the job and its agent runs. With `handOver`, the agent runs are kept for the next run of the job. */
  override async cancel({ handOver = false } = {}): Promise<void> {
    if (handOver) await this.known(() => this.temporal.signal(signalNames.handOver), 'cancel');
    const since = Date.now();
    await super.cancel();
    await this.#steps.cancelled?.(since);
  }

  /** Waits for the end of the job. Rejects with `JobFailed` for a failed or cancelled job, with `JobStopped` for a terminated job. */
  override result(): Promise<JobSummary> {
    const { finish = (result) => result } = this.#steps;
    return finish(super.result().catch((error: unknown) => this.#withRunsLeft(error)));
  }

  protected override outcome(): Promise<JobSummary> {
    return resultOf<JobSummary>(this.temporal, 'the job was cancelled', this.job);
  }

  protected heartbeatOf({ type, heartbeat, waitsFor }: PendingActivity): SliceHeartbeat | null {
    if ((type === 'enrichSlice' || type === 'retryRows') && heartbeat) return heartbeat as SliceHeartbeat;
    return waitsFor === null ? null : noSlice;
  }

  protected override async notRunningText(verb: string | null): Promise<string> {
    if (verb === null) return super.notRunningText(verb);
    const { phase = null } = (await this.end().catch(() => null)) ?? {};
    if (phase === 'done') return `${this.job} is done; there is nothing to ${verb}.`;
    const state = phase === 'failed' ? 'failed' : `is ${phase ?? 'not running'}`;
    return `${this.job} ${state}. ${this.wayToResume()}`;
  }

  override wayToResume(): string {
    return nextText(toContinue(this.job, this.#steps.schedule));
  }

  /** Adds to the error of a cancelled job the agent runs that were left running; needs a worker. */
  async #withRunsLeft(error: unknown): Promise<never> {
    if (!(error instanceof JobFailed) || error.phase !== 'cancelled') throw error;
    const { runsLeft = 0, message } = await this.client
      .withDeadline(Date.now() + LEFT_MS, () => this.temporal.query<JobProgress>(queryNames.progress))
      .catch(() => ({ runsLeft: 0, message: null }));
    throw runsLeft > 0 && message !== null ? new JobFailed(message, { cause: error.cause, job: error.job }) : error;
  }
}

export type JobHandle = Pick<
  RowJobHandle,
  'job' | 'workflowId' | 'progress' | 'pause' | 'resume' | 'cancel' | 'result' | 'wayToResume'
>;

/** Facts that decide whether a job's running workflow may continue. */
export interface RunningJob {
  readonly running: NonNullable<Awaited<ReturnType<typeof runningFor>>>;
  readonly handle: JobHandle;
  readonly staged: StagedJob;
  /** Whether the new request also asks for fresh answers or for retries of failed ones. */
  readonly asksMore: boolean;
  /** Whether other processes may be creating the warehouse at this moment. */
  readonly shared: boolean;
  /** The job's warehouse; null if another process runs the folder's worker. */
  warehouse(): RowProgress | null;
}

/** Returns in a sentence why the running workflow must be ended before the job is started; null if it continues. */
export async function whyEndFirst(job: RunningJob): Promise<string | null> {
  const { staged, asksMore, running } = job;
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
