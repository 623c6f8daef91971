import type { Client, ScheduleDescription } from '@temporalio/client';
import { msNumberToTs, optionalTsToMs, tsToMs } from '@temporalio/common/lib/time.js';
import type { WalkWarehouses } from '../../activities/base/deps.js';
import type { AlertBook } from '../../core/alerts/alert.js';
import { lagAlert, type MissedTime, missedAlert } from '../../core/alerts/schedule-alerts.js';
import { loadedUpTo } from '../../core/events/event-warehouse.js';
import { DEFAULT_EVENT_WAREHOUSE, streamOf } from '../../core/events/walk-job.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { workflowNames } from '../../core/rows/job-names.js';
import { NOT_FOUND } from '../temporal-server/retries-until-close.js';
import { schedulesHere } from './schedule-control.js';
import { inputOf } from './schedule-view.js';

export interface ScheduleWatchOptions {
  readonly taskQueue: string;
  readonly origin: string;
  readonly book: AlertBook;
  readonly events: WalkWarehouses;
  /** Lag in ms above which a stream is reported; null: never. */
  readonly lagMs: number | null;
}

/** Reports the schedules of a task queue that started no run in time, and their streams of events that lag. */
export async function checkSchedules(
  client: Client,
  { taskQueue, origin, book, events, lagMs }: ScheduleWatchOptions,
  {
    now,
    lateMs,
    onTime,
    checksLag,
  }: { readonly now: number; readonly lateMs?: number; readonly onTime?: Set<string>; readonly checksLag: boolean },
): Promise<void> {
  for (const about of await schedulesHere(client, taskQueue)) {
    const missed = await missedRuns(client, about, { now, lateMs, onTime });
    await book.note(missed.map(missedAlert));
    if (checksLag && lagMs !== null) await checkLag(about, { origin, book, events, lagMs }, now);
  }
}

async function checkLag(
  about: ScheduleDescription,
  {
    origin,
    book,
    events,
    lagMs,
  }: Pick<ScheduleWatchOptions, 'origin' | 'book' | 'events'> & { readonly lagMs: number },
  now: number,
): Promise<void> {
  const work = inputOf(about);
  if (work?.workflow !== workflowNames.syncEvents || about.state.paused) return;
  const { into = DEFAULT_EVENT_WAREHOUSE, host } = work.input;
  if (work.input.origin !== undefined && work.input.origin !== origin) return;
  const stream = streamOf({ ...work.input, kind: 'sync' });
  // A warehouse that cannot be read now, or only on another machine, is left to the next check or to another worker.
  const state = await events
    .warehouse({ into, host })
    .then((warehouse) => warehouse.stream({ origin, stream }))
    .catch(() => undefined);
  if (state === undefined) return;
  const upTo = loadedUpTo(state);
  const since = Math.max(upTo ?? 0, about.info.createdAt.getTime());
  if (now - since <= lagMs) return;
  const names = { schedule: work.schedule, job: jobOfWorkflow(work.workflowId), origin, into, stream };
  const completedAt = state?.completedAt ?? null;
  await book.note([lagAlert({ ...names, loadedUpTo: upTo, completedAt, limitMs: lagMs, now })]);
}

/** Time of the first check after the start of a worker, and between two checks, in ms. The server catches up on missed runs before. */
const FIRST_MS = 30_000;
const CHECK_MS = 60_000;
/** Time between two checks of the lag: they open warehouses. */
const LAG_CHECK_MS = 15 * 60_000;

/** Checks the schedules again and again while a worker runs. Returns a function that ends the checks. */
export function watchSchedules(client: Client, options: ScheduleWatchOptions): () => void {
  const onTime = new Set<string>();
  let isChecking = false;
  const lagEveryMs = Math.min(LAG_CHECK_MS, Math.max(CHECK_MS, (options.lagMs ?? 0) / 4));
  let lagCheckedAt = Date.now();
  const check = async () => {
    if (isChecking) return;
    isChecking = true;
    const now = Date.now();
    const checksLag = now - lagCheckedAt >= lagEveryMs;
    if (checksLag) lagCheckedAt = now;
    // If the server or the store cannot be reached, the next check does it.
    await checkSchedules(client, options, { now, onTime, checksLag }).catch(() => undefined);
    isChecking = false;
  };
  const first = setTimeout(() => void check(), FIRST_MS);
  const timer = setInterval(() => void check(), CHECK_MS);
  first.unref();
  timer.unref();
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

interface MissedOptions {
  /** Unix ms. */
  readonly now: number;
  /** Delay in ms from which on a run counts as late. */
  readonly lateMs?: number;
  /** Runs that were found to be on time, by their ids, so that they are read once. */
  readonly onTime?: Set<string>;
}

/** A start within this time is on time: a server or a worker may be restarted. */
const LATE_MS = 15 * 60_000;
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
