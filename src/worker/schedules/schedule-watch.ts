import type { Client, ScheduleDescription } from '@temporalio/client';
import type { WalkWarehouses } from '../../activities/base/deps.js';
import type { AlertBook } from '../../core/alerts/alert.js';
import { lagAlert, missedAlert } from '../../core/alerts/schedule-alerts.js';
import { loadedUpTo } from '../../core/events/event-warehouse.js';
import { DEFAULT_EVENT_WAREHOUSE, streamOf } from '../../core/events/walk-job.js';
import { jobOfWorkflow, workflowNames } from '../../core/rows/job.js';
import { missedRuns } from './missed-runs.js';
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
    const missed = await missedRuns(client, about, {
      now,
      ...(lateMs === undefined ? {} : { lateMs }),
      ...(onTime ? { onTime } : {}),
    });
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
    .warehouse({ into, ...(host === undefined ? {} : { host }) })
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
