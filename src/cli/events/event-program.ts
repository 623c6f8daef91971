import type { Command } from 'commander';
import { many } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const walks = () => import('./events-walk.js');

/** `searchflow events …`: webset events into a warehouse. */
export function addEvents(program: Command, chosen: Chosen): void {
  const events = program
    .command('events')
    .description('webset events into a warehouse, and the state of things that they tell');
  withSchedule(withWalk(events.command('sync')))
    .description('load what has happened since the last time; the first time everything')
    .action((flags) => chosen(async (context) => (await walks()).sync(context, flags)));
  withStretch(withWalk(events.command('backfill')))
    .description('load a stretch of time, many windows at once; again: goes on where it was')
    .action((flags) => chosen(async (context) => (await walks()).backfill(context, flags)));
  withStretch(withWalk(events.command('verify')))
    .description('read a stretch once more, compare with the warehouse by id and contents, and mend')
    .option('--strict', 'exit code 1 also where something had to be mended, not only where events are gone')
    .action((flags) => chosen(async (context) => (await walks()).verify(context, flags)));
  withInto(events.command('status'))
    .description('watermark, lag, the last complete run, backfills, and counts by type')
    .action((flags) => chosen(async (context) => (await import('./events-status.js')).status(context, flags)));
}

function withInto(command: Command): Command {
  return command
    .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/events.duckdb)')
    .option('--json', 'one JSON object on stdout');
}

function withWalk(command: Command): Command {
  return withInto(command)
    .option('--type <type>', 'only events of this type, such as webset.item.created; may be repeated', many)
    .option('--parallel <n>', 'windows of time read at once (default: 16)')
    .option('--qps <n>', "requests a second of the team's limit that are yours (default: 10)")
    .option('--rate-profile <name>', 'contract, boost, public or a JSON file instead of --qps');
}

function withStretch(command: Command): Command {
  return command
    .option('--from <moment>', 'a day of UTC: 2026-01-01, or 30d for that 30 days ago; or 2026-01-01T08:00+01:00')
    .option('--until <moment>', 'the same; a day is included, 1d to its end (default: a minute ago)');
}
