import type { Command } from 'commander';
import { type ScheduleTiming, timingProblems } from '../../core/schedules/schedule-timing.js';
import { parseDuration } from '../options/duration-option.js';

/** Flags that make a command's work a schedule's, as typed. */
export interface ScheduleFlags {
  readonly every?: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly scheduleName?: string;
}

/** What they ask for: a schedule, or `never`, that there be none. */
export interface ScheduleWish {
  /** Null: the job's own. */
  readonly name: string | null;
  readonly timing: ScheduleTiming | 'never';
}

export function withSchedule(command: Command): Command {
  return command
    .option('--every <duration>', 'run it by a schedule, such as 15m, 6h or 1d; never takes the schedule away')
    .option('--cron <expression>', 'run it by a schedule, such as "0 6 * * *"')
    .option('--tz <zone>', 'time zone of --cron, such as Europe/Berlin (default: UTC)')
    .option('--schedule-name <name>', "name of the schedule (default: the job's)");
}

/** The flags as a wish, null where none of them is given; adds a sentence to `mistakes` for each that can't be. */
export function toScheduleWish(flags: ScheduleFlags, mistakes: string[]): ScheduleWish | null {
  const { every, cron, tz, scheduleName: name } = flags;
  if (name !== undefined && !isScheduleName(name))
    mistakes.push(
      `--schedule-name: '${name}' is not a name of at most 100 letters, digits, dots, dashes and underscores.`,
    );
  if (every !== undefined && cron !== undefined) mistakes.push('--every and --cron are both given; give one.');
  if (tz !== undefined && cron === undefined) mistakes.push('--tz is for --cron, and there is none.');
  if (every === undefined && cron === undefined) {
    if (name !== undefined) mistakes.push('--schedule-name: say when, with --every 15m or --cron "0 6 * * *".');
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
  mistakes.push(`--every: '${every}' is not a duration such as 15m, 6h or 1d, nor never.`);
  return null;
}

export function isScheduleName(name: string): boolean {
  return /^[\w.-]{1,100}$/.test(name);
}
