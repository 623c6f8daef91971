import type { Client, ScheduleDescription } from '@temporalio/client';
import { msNumberToTs, optionalTsToMs, tsToMs } from '@temporalio/common/lib/time.js';
import type { MissedTime } from '../../core/alerts/schedule-alerts.js';
import { jobOfWorkflow } from '../../core/rows/job.js';
import { inputOf } from './schedule-view.js';

export interface MissedOptions {
  /** Unix ms. */
  readonly now: number;
  /** Delay in ms from which on a run counts as late. */
  readonly lateMs?: number;
  /** Runs that were found to be on time, by their ids, so that they are read once. */
  readonly onTime?: Set<string>;
}

/** A start within this time is on time: a server or a worker may be restarted. */
export const LATE_MS = 15 * 60_000;
/** The server's code for a run that it does not have. */
const NOT_FOUND = 5;
/** Earlier times are not checked, because an alert of last week comes too late to help. */
const RECENT_MS = 3 * 86_400_000;

/**
 * Returns the times of a schedule at which no run started in time, because no Temporal server or no worker was running. A paused schedule
 * misses nothing, and neither does one whose run before is still in progress.
 */
export async function missedRuns(
  client: Client,
  about: ScheduleDescription,
  { now, lateMs = LATE_MS, onTime = new Set() }: MissedOptions,
): Promise<readonly MissedTime[]> {
  const work = inputOf(about);
  if (work === null || about.state.paused) return [];
  const { createdAt, lastUpdatedAt, recentActions, runningActions, numActionsMissedCatchupWindow } = about.info;
  // Times before a change of the schedule were those of another schedule.
  const since = Math.max(createdAt.getTime(), lastUpdatedAt?.getTime() ?? 0, now - RECENT_MS);
  const of = { schedule: work.schedule, job: jobOfWorkflow(work.workflowId) };
  const missed: MissedTime[] = [];
  let latest = since;
  for (const { scheduledAt, action } of recentActions) {
    const dueAt = scheduledAt.getTime();
    // A run of a backfill is for a time before an earlier run.
    if (dueAt <= latest) continue;
    latest = dueAt;
    const { workflowId, firstExecutionRunId } = action.workflow;
    if (now - dueAt <= lateMs || onTime.has(firstExecutionRunId)) continue;
    const begun = await beginOf(client, workflowId, firstExecutionRunId);
    if (begun === 'unknown') continue;
    const isLate = (begun ?? now) - dueAt > lateMs;
    if (isLate) missed.push({ ...of, dueAt, startedAt: begun, missed: 0 });
    if (begun !== null && !isLate) onTime.add(firstExecutionRunId);
  }
  // The server counts the times that it did not make up for. Times while a run is in progress are skipped on purpose.
  if (numActionsMissedCatchupWindow > 0 && runningActions.length === 0) {
    const times = await timesBetween(client, about.scheduleId, latest, now - lateMs);
    const dueAt = times.at(-1);
    if (dueAt !== undefined) missed.push({ ...of, dueAt, startedAt: null, missed: times.length });
  }
  return missed;
}

/** When a worker began with a run; null: none has. `unknown`: the run has ended without a worker, or its history is gone. */
async function beginOf(client: Client, workflowId: string, runId: string): Promise<number | null | 'unknown'> {
  try {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const started = events?.find((event) => event.workflowTaskStartedEventAttributes);
    if (started) return tsToMs(started.eventTime);
    const isOver = events?.some((event) => event.workflowExecutionTerminatedEventAttributes) ?? true;
    return isOver ? 'unknown' : null;
  } catch (error) {
    // The client passes this error of the server on as it is.
    if ((error as { readonly code?: unknown }).code === NOT_FOUND) return 'unknown';
    throw error;
  }
}

/** The times of a schedule after `from` and up to `until`; of very many, the first thousand. */
async function timesBetween(
  client: Client,
  scheduleId: string,
  from: number,
  until: number,
): Promise<readonly number[]> {
  if (until <= from) return [];
  const { startTime } = await client.workflowService.listScheduleMatchingTimes({
    ...{ namespace: client.options.namespace, scheduleId },
    ...{ startTime: msNumberToTs(from), endTime: msNumberToTs(until) },
  });
  return startTime.map((at) => optionalTsToMs(at) as number);
}
