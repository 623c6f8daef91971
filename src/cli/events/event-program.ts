import type { Command } from 'commander';
import { limitWalkMemory } from '../../files/process-memory.js';
import { many, uncheckedOption, withDetach, withExamples, withQps } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Loads the code of walks; from then on the space of new objects stays small. */
function walks() {
  limitWalkMemory();
  return import('./events-walk.js');
}

/** Adds `searchflow events …`: webset events into a warehouse. */
export function addEvents(program: Command, chosen: Chosen): void {
  const events = program.command('events').description('webset events and their current state, in a warehouse');
  withExamples(events, 'searchflow events sync', 'searchflow events status');
  const sync = withSchedule(withDetach(withWalk(events.command('sync'))))
    .description('load new events; the first run loads all')
    .action((flags) => chosen(async (context) => (await walks()).sync(context, flags)));
  withExamples(sync, 'searchflow events sync', 'searchflow events sync --every 15m');
  const backfill = withRange(withDetach(withWalk(events.command('backfill'))))
    .description('load a range of the past, several windows at once; run the same command again to resume')
    .action((flags) => chosen(async (context) => (await walks()).backfill(context, flags)));
  withExamples(backfill, 'searchflow events backfill --from 2026-01-01 --until 2026-01-31');
  const verify = withRange(withWalk(events.command('verify')))
    .description('compare a range with the warehouse, by id and contents, and repair differences')
    .option('--strict', 'exit code 1 for any difference, even if it was repaired')
    .action((flags) => chosen(async (context) => (await walks()).verify(context, flags)));
  withExamples(verify, 'searchflow events verify --from 7d --strict');
  const status = withInto(events.command('status'))
    .description('show the watermark, lag, last complete run, backfills and counts by type')
    .action((flags) => chosen(async (context) => (await import('./events-status.js')).status(context, flags)));
  withExamples(status, 'searchflow events status', 'searchflow events status --json');
}

function withInto(command: Command): Command {
  return command
    .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/events.duckdb)')
    .option('--json', 'one JSON object on stdout');
}

function withWalk(command: Command): Command {
  withInto(command)
    .option('--type <type>', 'event type, such as webset.item.created; repeatable (default: all)', many)
    .option(...uncheckedOption)
    .option('--parallel <n>', 'windows of time that are read at once (default: 16)');
  return withQps(command).option(
    '--rate-profile <name>',
    'rate profile instead of --qps: contract, boost, public or a JSON file',
  );
}

function withRange(command: Command): Command {
  return command
    .option('--from <time>', 'start, as a UTC date (2026-01-01), an age (30d) or a time (2026-01-01T08:00+01:00)')
    .option('--until <time>', 'end, in the format of --from; dates are inclusive (default: a minute ago)');
}
