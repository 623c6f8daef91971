import { type ScheduleTiming, timingProblems } from '../../core/schedule-timing.js';
import { parseDuration } from '../options/duration-option.js';
import type { ScheduleFlags } from './schedule-flags.js';

/** A requested schedule, or `never` to delete the schedule. */
export interface ScheduleWish {
  /** Null: the schedule gets the default name of the job. */
  readonly name: string | null;
  readonly timing: ScheduleTiming | 'never';
}

/** Returns the requested schedule, or null if no flag requests one. Adds a sentence to `mistakes` for each invalid flag. */
export function toScheduleWish(flags: ScheduleFlags, mistakes: string[]): ScheduleWish | null {
  const { every, cron, tz, scheduleName: name } = flags;
  if (name !== undefined && !isScheduleName(name))
    mistakes.push(`--schedule-name: '${name}' must have at most 100 letters, digits, dots, dashes and underscores.`);
  if (every !== undefined && cron !== undefined)
    mistakes.push('--every and --cron exclude each other. Pass one of them.');
  if (tz !== undefined && cron === undefined) mistakes.push('--tz needs --cron.');
  if (every === undefined && cron === undefined) {
    if (name !== undefined)
      mistakes.push('--schedule-name needs --every or --cron, such as --every 15m or --cron "0 6 * * *".');
    return null;
  }
  if (every === 'never') return { name: name ?? null, timing: 'never' };
  const timing = toTiming(flags, mistakes);
  if (timing) mistakes.push(...timingProblems(timing).map((problem) => `--${problem}.`));
  return timing && { name: name ?? null, timing };
}

function toTiming({ every, cron, tz = 'UTC' }: ScheduleFlags, mistakes: string[]): ScheduleTiming | null {
  if (every === undefined) return { cron: cron ?? '', tz };
  const everyMs = parseDuration(every);
  if (everyMs !== null) return { everyMs };
  mistakes.push(`--every: '${every}' must be a duration such as 15m, 6h or 1d, or never.`);
  return null;
}

export function isScheduleName(name: string): boolean {
  return /^[\w.-]{1,100}$/.test(name);
}
