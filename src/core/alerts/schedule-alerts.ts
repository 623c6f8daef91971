import { shellWord } from '../text/shell-word.js';
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

const shown = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** A missed time in a sentence without its end. */
export function missedText({ schedule, dueAt, startedAt, missed }: MissedTime): string {
  const what =
    missed > 0
      ? `started no run at ${shown(dueAt)}${missed > 1 ? ` and at ${missed - 1} times before` : ''}, because no Temporal server was running`
      : startedAt === null
        ? `has had no worker for its run of ${shown(dueAt)}`
        : `started its run of ${shown(dueAt)} only at ${shown(startedAt)}, because no server or no worker was running`;
  return `The schedule ${named(schedule)} ${what}`;
}

/** The alert of a missed time. A run that starts later is still the same alert. */
export function missedAlert(time: MissedTime): AlertFact {
  const { schedule, job, dueAt, startedAt, missed } = time;
  const next = `searchflow schedule show ${shellWord(schedule)}`;
  return {
    type: 'schedule.missed',
    key: [schedule, dueAt],
    text: `${missedText(time)}. Next: ${next}`,
    data: {
      ...{ schedule, job, dueAt: new Date(dueAt).toISOString(), missed, next },
      startedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
    },
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
  const next = `searchflow status ${shellWord(job)}`;
  const limitSeconds = Math.round(limitMs / 1000);
  const lagSeconds = loadedUpTo === null ? null : Math.round((now - loadedUpTo) / 1000);
  const upTo =
    loadedUpTo === null ? 'has loaded no events yet' : `has loaded all events only up to ${shown(loadedUpTo)}`;
  return {
    type: 'events.lag',
    key: [origin, into, stream, completedAt ?? 0, new Date(now).toISOString().slice(0, 10)],
    text: `The schedule ${named(schedule)} ${upTo}; its lag is above the limit of ${Math.round(limitSeconds / 60)} minutes. Next: ${next}`,
    data: {
      ...{ schedule, job, stream, origin, lagSeconds, limitSeconds, next },
      loadedUpTo: loadedUpTo === null ? null : new Date(loadedUpTo).toISOString(),
    },
  };
}
