import type { Command } from 'commander';
import { withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const commands = () => import('./schedule.js');

/** Adds `searchflow schedule …`: the schedules that `--every` and `--cron` create. */
export function addSchedules(program: Command, chosen: Chosen): void {
  const schedule = program
    .command('schedule')
    .description('schedules of jobs, syncs and exports; create them with --every or --cron');
  withExamples(schedule, 'searchflow schedule list', 'searchflow enrich companies.csv --every 1d --max-cost 5');
  const list = schedule
    .command('list')
    .description('list all schedules with their next and last runs')
    .option('--json', 'one JSON array on stdout')
    .action((flags) => chosen(async (context) => (await commands()).list(context, flags)));
  withExamples(list, 'searchflow schedule list');
  const show = named(schedule, 'show')
    .description('show a schedule and the results of its last runs')
    .option('--json', 'one JSON object on stdout')
    .action((name, flags) => chosen(async (context) => (await commands()).show(context, name, flags)));
  withExamples(show, 'searchflow schedule show companies');
  const pause = named(schedule, 'pause')
    .description('stop starting runs until resumed; runs already queued still execute')
    .option('--why <text>', 'reason, shown in lists')
    .action((name, flags) => chosen(async (context) => (await commands()).pause(context, name, flags)));
  withExamples(pause, "searchflow schedule pause companies --why 'file is being replaced'");
  const resume = named(schedule, 'resume')
    .description('resume a paused schedule')
    .action((name) => chosen(async (context) => (await commands()).resume(context, name)));
  withExamples(resume, 'searchflow schedule resume companies');
  const trigger = named(schedule, 'trigger')
    .description('start a run now, or right after the current one')
    .action((name) => chosen(async (context) => (await commands()).trigger(context, name)));
  withExamples(trigger, 'searchflow schedule trigger companies');
  const remove = named(schedule, 'delete')
    .description('delete a schedule; paid and loaded results are kept')
    .action((name) => chosen(async (context) => (await commands()).remove(context, name)));
  withExamples(remove, 'searchflow schedule delete companies');
  const backfill = named(schedule, 'backfill')
    .description('start a run for each scheduled time of a past range, at most 1,000 runs')
    .option('--from <time>', 'start, as a UTC date (2026-11-01), an age (7d) or a time (2026-11-01T08:00+01:00)')
    .option('--until <time>', 'end, in the format of --from; dates are inclusive')
    .action((name, flags) => chosen(async (context) => (await commands()).backfill(context, name, flags)));
  withExamples(backfill, 'searchflow schedule backfill companies --from 7d --until 1d');
}

function named(schedule: Command, name: string): Command {
  return schedule.command(name).argument('<name>', 'name of the schedule');
}
