import type { Command } from 'commander';

/** Flags that schedule the work of a command. */
export interface ScheduleFlags {
  readonly every?: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly scheduleName?: string;
}

export function withSchedule(command: Command): Command {
  return command
    .option('--every <duration>', 'schedule with an interval, such as 15m, 6h or 1d; never: delete the schedule')
    .option('--cron <expression>', 'schedule with a cron expression, such as "0 6 * * *"')
    .option('--tz <zone>', 'time zone of --cron, such as Europe/Berlin (default: UTC)')
    .option('--schedule-name <name>', 'name of the schedule (default: the name of the job)');
}
