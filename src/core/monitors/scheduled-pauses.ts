import type { MonitorState } from '../workflow-result-schemas.js';

/** A pause of a monitor by a batch, from the audit. */
export interface ScheduledPause {
  readonly id: string;
  /** Schedule that started the batch; null: a person did. */
  readonly schedule: string | null;
  /** Time of the plan, Unix ms. */
  readonly at: number;
  readonly already: boolean;
  /** `updatedAt` of the monitor at the time of the plan. */
  readonly before: string | null;
  /** `updatedAt` of the monitor at the end of the batch; null: the batch has no end. */
  readonly after: string | null;
}

/** The pauses of the monitors that batches of a schedule paused, and the time of the latest unpause of each schedule, Unix ms. */
export interface ScheduledPauses {
  readonly pauses: readonly ScheduledPause[];
  readonly ends: ReadonlyMap<string, number>;
}

/**
 * Whether an unpause of what a schedule paused changes a monitor: it is still as a batch of a schedule paused it, this schedule paused it
 * or found it so, and nobody else wants it paused: no person, and no other schedule that has not unpaused it yet.
 */
export function isPausedBy(schedule: string, { pauses, ends }: ScheduledPauses, now: MonitorState): boolean {
  if (now.status !== 'paused') return false;
  const inForce = pauses.filter((pause) => pause.id === now.id && isInForce(pause, now));
  const others = inForce.filter((pause) => pause.schedule !== schedule);
  const hasEnded = (pause: ScheduledPause) => pause.schedule !== null && (ends.get(pause.schedule) ?? 0) > pause.at;
  return (
    others.length < inForce.length &&
    inForce.some((pause) => pause.schedule !== null && !pause.already) &&
    others.every(hasEnded)
  );
}

/** Whether a monitor has not changed since a pause. Without the end of its batch, a change since the plan is taken for the pause. */
function isInForce({ already, before, after }: ScheduledPause, { updatedAt }: MonitorState): boolean {
  if (already) return before === updatedAt;
  return after === null ? before !== updatedAt : after === updatedAt;
}
