import { type Command, Option } from 'commander';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
const batch = () => import('./monitors-batch.js');
const single = () => import('./monitors-single.js');
const quietHours = () => import('./monitors-quiet.js');
const runs = () => import('./monitors-export.js');

/** `searchflow monitors …`: single monitors, many at once, quiet hours, and their runs in a warehouse. */
export function addMonitors(program: Command, chosen: Chosen): void {
  const monitors = program
    .command('monitors')
    .description('recurring searches: make, pause, delete, export what they found');
  addSingle(monitors, chosen);
  addBatches(monitors, chosen);
  addQuiet(monitors, chosen);
  withSchedule(withRate(withFilter(monitors.command('export'))))
    .description('monitors, their runs and results into a warehouse; again: what is new')
    .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/monitors.duckdb)')
    .option('--json', 'one JSON object')
    .action((flags) => chosen(async (context) => (await runs()).exportRuns(context, flags)));
}

function addSingle(monitors: Command, chosen: Chosen): void {
  withRate(monitors.command('create'))
    .description('make a monitor; its webhook secret goes to a file, because the service tells it once')
    .argument('<definition>', 'JSON file with search, webhook and the rest; - for standard input')
    .option('--secret-file <file>', 'where the secret goes (mode 0600); needed')
    .option('--json', 'one JSON object')
    .action((file, flags) => chosen(async (context) => (await single()).create(context, file, flags)));
  withRate(monitors.command('update'))
    .description('change a monitor')
    .argument('<id>')
    .argument('<changes>', 'JSON file with the fields to change; - for standard input')
    .action((id, file, flags) => chosen(async (context) => (await single()).update(context, id, file, flags)));
  withRate(monitors.command('get'))
    .description('a monitor, as JSON')
    .argument('<id>')
    .action((id, flags) => chosen(async (context) => (await single()).get(context, id, flags)));
  withRate(withFilter(monitors.command('list')))
    .description('monitors, a line each')
    .option('--limit <n>', 'at most so many (default: 100)')
    .option('--json', 'one JSON array')
    .action((flags) => chosen(async (context) => (await single()).list(context, flags)));
  withRate(monitors.command('trigger'))
    .description('run a monitor now; the run is billed')
    .argument('<id>')
    .action((id, flags) => chosen(async (context) => (await single()).trigger(context, id, flags)));
  withRate(monitors.command('runs'))
    .description('the runs of a monitor, newest first; or one of them with its output, as JSON')
    .argument('<id>')
    .argument('[run]')
    .option('--limit <n>', 'at most so many (default: 20)')
    .option('--json', 'one JSON array')
    .action((id, run, flags) => chosen(async (context) => (await single()).runs(context, id, run, flags)));
}

function addBatches(monitors: Command, chosen: Chosen): void {
  for (const [action, about] of [
    ['pause', 'pause all active monitors that match'],
    ['unpause', 'unpause all paused monitors that match'],
  ] as const) {
    withRate(withBatch(monitors.command(action)))
      .description(about)
      .action((flags) => chosen(async (context) => (await batch()).runBatch(context, action, flags)));
  }
  withRate(withBatch(monitors.command('delete')))
    .description('delete all monitors that match, for good; or one by its id')
    .argument('[id]', 'of one monitor')
    .action((id, flags) =>
      chosen(async (context) =>
        id === undefined
          ? (await batch()).runBatch(context, 'delete', flags)
          : (await single()).remove(context, id, flags),
      ),
    );
  for (const decision of ['approve', 'reject'] as const) {
    withRate(monitors.command(decision))
      .description(`${decision} a batch that waits for it`)
      .argument('<job>', 'name of the batch')
      .option('--why <text>', 'for the audit')
      .option('--json', 'one JSON object')
      .action((job, flags) => chosen(async (context) => (await batch()).decide(context, decision, job, flags)));
  }
}

function addQuiet(monitors: Command, chosen: Chosen): void {
  const quiet = withRate(withFilter(monitors.command('quiet'), false))
    .description('pause monitors in quiet hours, by schedules of the Temporal server, and put them back')
    .option('--from <time>', 'when they begin: 20:00, or with a day: "fri 20:00"')
    .option('--until <time>', 'when they end: 07:00, or with a day: "mon 07:00"')
    .option('--tz <zone>', 'time zone, such as Europe/Berlin')
    .option('--weekdays <days>', 'days on which they begin, such as mon-fri or sat,sun (default: mon-sun)')
    .option('--as <name>', 'name of these quiet hours (default: quiet)')
    .option('--into <address>', 'warehouse that remembers what was paused (default: out/monitors.duckdb)')
    .action((flags) => chosen(async (context) => (await quietHours()).add(context, flags)));
  quiet
    .command('list')
    .description('the quiet hours that are set')
    .option('--json', 'one JSON array')
    .action((flags) => chosen(async (context) => (await quietHours()).list(context, flags)));
  quiet
    .command('remove')
    .description('end quiet hours, and put back what they paused')
    .argument('<name>')
    .action((name) => chosen(async (context) => (await quietHours()).remove(context, name)));
}

function withFilter(command: Command, status = true): Command {
  command
    .option('--name <text>', 'part of the name, in any case')
    .option('--metadata <key=value>', 'exactly so; may be repeated, all must match', many);
  return status
    ? command.addOption(new Option('--status <status>', 'as they are').choices(['active', 'paused', 'disabled']))
    : command;
}

function withBatch(command: Command): Command {
  return withFilter(command)
    .option('--limit <n>', 'monitors a call, 1 to 500 (default: 100)')
    .option('--yes', 'approved beforehand: ask nobody')
    .option('--wait-for-approval', 'until somebody says `searchflow monitors approve`')
    .option('--into <address>', 'warehouse of the audit (default: out/monitors.duckdb)')
    .option('--json', 'the effect as one JSON object on stdout');
}

function withRate(command: Command): Command {
  return command.option('--qps <n>', "requests a second of the team's limit that are yours (default: 10)");
}
