import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { sentenceOf } from '../../core/rows/pause.js';
import type { ScheduledJobInput } from '../../core/workflow-input-schemas.js';
import type { ScheduledOutcome, ScheduledRun } from '../../core/workflow-result-schemas.js';
import { endOf } from '../control/workflow-handle.js';

/** The ids of all schedules of searchflow begin with this. */
export const SCHEDULE_PREFIX = 'searchflow-schedule-';

/** A schedule of the Temporal server; null if there is none. */
export async function describeSchedule(client: Client, scheduleId: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(scheduleId).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** All schedules whose id has this prefix. Changes of the last second may not be visible yet. */
export async function schedulesOf(client: Client, prefix: string): Promise<ScheduleDescription[]> {
  const found: ScheduleDescription[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    const about = scheduleId.startsWith(prefix) ? await describeSchedule(client, scheduleId) : null;
    if (about) found.push(about);
  }
  return found;
}

/** A schedule with its state. Times in Unix ms. */
export interface ScheduleView {
  readonly name: string;
  readonly job: string;
  readonly work: ScheduledJobInput;
  readonly when: string;
  readonly paused: boolean;
  readonly note: string | null;
  readonly next: readonly number[];
  /**
   * Runs of a trigger or backfill that start after the current run, even while the schedule is paused. A long backfill is queued in parts.
   */
  readonly queued: number;
  /** The newest first; at most ten. */
  readonly runs: readonly ScheduledRun[];
}

/**
 * A schedule with up to `runs` of its last runs; null for a schedule that searchflow did not create. `worked`: whether a worker is running.
 */
export async function viewOf(
  client: Client,
  about: ScheduleDescription,
  runs: number,
  worked: boolean,
): Promise<ScheduleView | null> {
  const work = inputOf(about);
  if (work === null) return null;
  const recent = [...about.info.recentActions].reverse().slice(0, runs);
  return {
    name: work.schedule,
    job: jobOfWorkflow(work.workflowId),
    work,
    when: work.when ?? '',
    paused: about.state.paused,
    note: about.state.note || null,
    next: about.state.paused ? [] : about.info.nextActionTimes.map((at) => at.getTime()),
    queued: queuedOf(about),
    runs: await Promise.all(
      recent.map(async ({ action: { workflow }, takenAt }) => ({
        workflowId: workflow.workflowId,
        at: takenAt.getTime(),
        ...waitingUnless(worked, await lastEnd(client, workflow.workflowId, workflow.firstExecutionRunId)),
      })),
    ),
  };
}

/** Outcome of the result of a run: a scheduled run, a job, a walk or an export; `done` for a result of any other kind. */
function outcomeOf(result: unknown): RunEnd {
  const done = { phase: 'done' as const, message: null, summary: null };
  if (typeof result !== 'object' || result === null) return done;
  const { phase = 'done', message = null, summary } = result as Partial<ScheduledOutcome>;
  if (summary !== undefined) return { phase, message, summary };
  const isKnown = 'warehouse' in result || 'added' in result;
  return isKnown ? { phase, message, summary: result as ScheduledOutcome['summary'] } : done;
}

function waitingUnless<Run extends Pick<ScheduledRun, 'phase'>>(worked: boolean, run: Run): Run {
  return !worked && run.phase === 'running' ? { ...run, phase: 'waiting' } : run;
}

export function queuedOf({ raw }: ScheduleDescription): number {
  return Number(raw.info?.bufferSize ?? 0);
}

/** Input of the runs of a schedule; null for a schedule that searchflow did not create. */
export function inputOf({ action }: ScheduleDescription): ScheduledJobInput | null {
  const [input] = action.args ?? [];
  return typeof input === 'object' && input !== null && 'schedule' in input ? (input as ScheduledJobInput) : null;
}

type RunEnd = Pick<ScheduledRun, 'phase' | 'message' | 'summary'>;

async function lastEnd(client: Client, workflowId: string, runId: string): Promise<RunEnd> {
  const handle = client.workflow.getHandle(workflowId, runId);
  try {
    const { status } = await handle.describe();
    if (status.name === 'RUNNING') return { phase: 'running', message: null, summary: null };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  return awaitEnd(handle);
}

/** Waits for the end of a run and returns its outcome. */
export async function awaitEnd(handle: Pick<WorkflowHandle, 'result' | 'workflowId'>): Promise<RunEnd> {
  try {
    const end = await endOf(handle.workflowId, handle.result());
    if (end.how === 'completed') return outcomeOf(end.result);
    const { how, said } = end;
    // A terminated run has the reason of a person.
    return { phase: how === 'terminated' ? 'cancelled' : how, message: said && sentenceOf(said), summary: null };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return { phase: 'forgotten', message: null, summary: null };
  }
}
