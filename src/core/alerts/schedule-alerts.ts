import { commandLine } from '../text/shell-word.js';
import type { AlertFact } from './alert.js';
import { named } from './job-alerts.js';

/** A time of a schedule at which no run started, or at which a run started late. Times in Unix ms. */
export interface MissedTime {
  readonly schedule: string;
  readonly job: string;
  /** The time; of several in a row, the last one. */
  readonly dueAt: number;
  /** When a worker began with the run; null: it has not. */
  readonly startedAt: number | null;
  /** Number of times in a row without a run; 0 for a run that a worker began late, or has not begun. */
  readonly missed: number;
}

const iso = (at: number): string => new Date(at).toISOString();
const shown = (at: number): string => iso(at).replace(/\.\d+Z$/, 'Z');

/** The alert of a missed time. A run that starts later is still the same alert. */
export function missedAlert({ schedule, job, dueAt, startedAt, missed }: MissedTime): AlertFact {
  const next = commandLine('schedule', 'show', schedule);
  const due = shown(dueAt);
  const more = missed > 1 ? ` and at ${missed - 1} times before` : '';
  const what =
    missed > 0
      ? `started no run at ${due}${more}, because no Temporal server was running`
      : startedAt === null
        ? `has had no worker for its run of ${due}`
        : `started its run of ${due} only at ${shown(startedAt)}, because no server or no worker was running`;
  return {
    type: 'schedule.missed',
    key: [schedule, dueAt],
    text: `The schedule ${named(schedule)} ${what}. Next: ${next}`,
    data: { schedule, job, dueAt: iso(dueAt), missed, next, startedAt: startedAt === null ? null : iso(startedAt) },
  };
}

/** A scheduled stream of events that lags. Times in Unix ms. */
export interface LaggingStream {
  readonly schedule: string;
  readonly job: string;
  readonly origin: string;
  readonly into: string;
  readonly stream: string;
  /** The time up to which all events are loaded; null: none are loaded. */
  readonly loadedUpTo: number | null;
  /** When the last complete run of the stream ended; null: none has. */
  readonly completedAt: number | null;
  readonly limitMs: number;
  readonly now: number;
}

/** The alert of a stream that lags: one for each UTC day of each interruption. */
export function lagAlert(lagging: LaggingStream): AlertFact {
  const { schedule, job, origin, into, stream, loadedUpTo, completedAt, limitMs, now } = lagging;
  const next = commandLine('status', job);
  const limitSeconds = Math.round(limitMs / 1000);
  const lagSeconds = loadedUpTo === null ? null : Math.round((now - loadedUpTo) / 1000);
  const upTo =
    loadedUpTo === null ? 'has loaded no events yet' : `has loaded all events only up to ${shown(loadedUpTo)}`;
  return {
    type: 'events.lag',
    key: [origin, into, stream, completedAt ?? 0, iso(now).slice(0, 10)],
    text: `The schedule ${named(schedule)} ${upTo}; its lag is above the limit of ${Math.round(limitSeconds / 60)} minutes. Next: ${next}`,
    data: {
      ...{ schedule, job, stream, origin, lagSeconds, limitSeconds, next },
      loadedUpTo: loadedUpTo === null ? null : iso(loadedUpTo),
    },
  };
}
