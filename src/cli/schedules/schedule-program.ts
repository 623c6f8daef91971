import type { Command } from 'commander';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const commands = () => import('./schedule.js');

/** `searchflow schedule …`: the schedules that `--every` and `--cron` made. */
export function addSchedules(program: Command, chosen: Chosen): void {
  const schedule = program
    .command('schedule')
    .description('what runs by itself: see --every and --cron of the commands');
  schedule
    .command('list')
    .description('all schedules, with their next and last runs')
    .option('--json', 'one JSON array')
    .action((flags) => chosen(async (context) => (await commands()).list(context, flags)));
  schedule
    .command('show')
    .description('a schedule and how its last runs ended')
    .argument('<name>')
    .option('--json', 'one JSON object')
    .action((name, flags) => chosen(async (context) => (await commands()).show(context, name, flags)));
  schedule
    .command('pause')
    .description('let no time of it begin a run until it is resumed; what a backfill or trigger has queued still runs')
    .argument('<name>')
    .option('--why <text>', 'for those who list it')
    .action((name, flags) => chosen(async (context) => (await commands()).pause(context, name, flags)));
  schedule
    .command('resume')
    .description('go on with a paused schedule')
    .argument('<name>')
    .action((name) => chosen(async (context) => (await commands()).resume(context, name)));
  schedule
    .command('trigger')
    .description('a run now, or right after the one that goes on')
    .argument('<name>')
    .action((name) => chosen(async (context) => (await commands()).trigger(context, name)));
  schedule
    .command('delete')
    .description('take a schedule away; what it bought and loaded stays')
    .argument('<name>')
    .action((name) => chosen(async (context) => (await commands()).remove(context, name)));
  schedule
    .command('backfill')
    .description('a run for each of its times in the past between two moments, at most 1,000')
    .argument('<name>')
    .option('--from <moment>', 'a day of UTC: 2026-11-01, or 7d for that 7 days ago; or 2026-11-01T08:00+01:00')
    .option('--until <moment>', 'the same; a day is included, 1d to its end')
    .action((name, flags) => chosen(async (context) => (await commands()).backfill(context, name, flags)));
}
