import type { Client } from '@temporalio/client';
import type { NextRun } from '../config/runtime-types.js';
import { inputOf, SCHEDULE_PREFIX, schedulesOf } from './schedule-view.js';

/** Longest wait for the schedules of a server. */
const ANSWER_MS = 5000;

/**
 * Returns the next runs of all schedules by the id of the workflow that they start, the earliest first; null if the server does not answer in
 * time.
 */
export async function nextRuns(client: Client): Promise<ReadonlyMap<string, readonly NextRun[]> | null> {
  const runs = new Map<string, NextRun[]>();
  try {
    const all = await client.withDeadline(Date.now() + ANSWER_MS, () => schedulesOf(client, SCHEDULE_PREFIX));
    for (const about of all) {
      const input = inputOf(about);
      if (input === null) continue;
      const isPaused = about.state.paused;
      const at = isPaused ? null : (about.info.nextActionTimes[0]?.getTime() ?? null);
      const next = { schedule: input.schedule, at, isPaused };
      runs.set(input.workflowId, [...(runs.get(input.workflowId) ?? []), next].sort(byTime));
    }
    return runs;
  } catch {
    return null;
  }
}

const byTime = (a: NextRun, b: NextRun): number =>
  (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY) || a.schedule.localeCompare(b.schedule);
