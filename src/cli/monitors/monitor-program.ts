import type { Command } from 'commander';
import { many, uncheckedOption, withDetach, withExamples, withQps } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const batch = () => import('./monitors-batch.js');
const single = () => import('./monitors-single.js');
const runs = () => import('./monitors-export.js');

/** Adds `searchflow monitors …`: single monitors, batches, and monitor runs in a warehouse. */
export function addMonitors(program: Command, chosen: Chosen): void {
  const monitors = program.command('monitors').description('recurring searches: create, pause, delete, export runs');
  withExamples(monitors, 'searchflow monitors list', 'searchflow monitors pause --metadata team=growth');
  addSingle(monitors, chosen);
  addBatches(monitors, chosen);
  const write = withDetach(withSchedule(withQps(withFilter(monitors.command('export')))))
    .option(...uncheckedOption)
    .description('load monitors, their runs and results into a warehouse; later exports load only what is new')
    .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/monitors.duckdb)')
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await runs()).exportRuns(context, flags)));
  withExamples(write, 'searchflow monitors export', 'searchflow monitors export --every 6h');
}

function addSingle(monitors: Command, chosen: Chosen): void {
  const create = withQps(monitors.command('create'))
    .description('create a monitor and store its webhook secret, which the service returns only once')
    .argument('<definition>', 'JSON file with search, webhook and other fields; - for stdin')
    .option('--secret-file <file>', 'file for the webhook secret (mode 0600); required')
    .option(...uncheckedOption)
    .option('--json', 'one JSON object on stdout')
    .action((file, flags) => chosen(async (context) => (await single()).create(context, file, flags)));
  withExamples(create, 'searchflow monitors create launches.json --secret-file secrets/webhooks.json');
  const update = withQps(withId(monitors.command('update')))
    .description('change a monitor')
    .argument('<changes>', 'JSON file with the fields to change; - for stdin')
    .option(...uncheckedOption)
    .action((id, file, flags) => chosen(async (context) => (await single()).update(context, id, file, flags)));
  withExamples(update, 'searchflow monitors update mon_1 changes.json');
  const get = withQps(withId(monitors.command('get')))
    .description('print a monitor as JSON')
    .action((id, flags) => chosen(async (context) => (await single()).get(context, id, flags)));
  withExamples(get, 'searchflow monitors get mon_1');
  const list = withQps(withFilter(monitors.command('list')))
    .option(...uncheckedOption)
    .description('list monitors')
    .option('--limit <n>', 'maximum number of monitors (default: 100)')
    .option('--json', 'one JSON array on stdout')
    .action((flags) => chosen(async (context) => (await single()).list(context, flags)));
  withExamples(list, 'searchflow monitors list', 'searchflow monitors list --status active --metadata team=growth');
  const trigger = withQps(withId(monitors.command('trigger')))
    .description('run a monitor now; the run is billed')
    .action((id, flags) => chosen(async (context) => (await single()).trigger(context, id, flags)));
  withExamples(trigger, 'searchflow monitors trigger mon_1');
  const listRuns = withQps(withId(monitors.command('runs')))
    .description('list the runs of a monitor, newest first; with a run id, print this run and its output as JSON')
    .argument('[run]', 'id of one run')
    .option('--limit <n>', 'maximum number of runs (default: 20)')
    .option('--json', 'one JSON array on stdout')
    .action((id, run, flags) => chosen(async (context) => (await single()).runs(context, id, run, flags)));
  withExamples(listRuns, 'searchflow monitors runs mon_1', 'searchflow monitors runs mon_1 run_1');
}

function addBatches(monitors: Command, chosen: Chosen): void {
  for (const [action, about] of [
    ['pause', 'pause all active monitors that match'],
    ['unpause', 'unpause all paused monitors that match'],
  ] as const) {
    const command = withSchedule(withQps(withBatch(monitors.command(action)))).description(about);
    if (action === 'unpause')
      command.option(
        '--of-schedule <name>',
        'what this schedule of `monitors pause` paused and nobody has changed since',
      );
    command.action((flags) => chosen(async (context) => (await batch()).runBatch(context, action, flags)));
    withExamples(
      command,
      `searchflow monitors ${action} --metadata team=growth`,
      action === 'pause'
        ? "searchflow monitors pause --metadata team=growth --cron '0 20 * * fri' --tz Europe/Berlin --schedule-name weekend"
        : "searchflow monitors unpause --of-schedule weekend --cron '0 7 * * mon' --tz Europe/Berlin",
    );
  }
  const remove = withQps(withBatch(monitors.command('delete')))
    .description('delete one monitor by its id, or all monitors that match; deletion is permanent')
    .argument('[id]', 'id of one monitor')
    .action((id, flags) =>
      chosen(async (context) =>
        id === undefined
          ? (await batch()).runBatch(context, 'delete', flags)
          : (await single()).remove(context, id, flags),
      ),
    );
  withExamples(
    remove,
    'searchflow monitors delete mon_1',
    "searchflow monitors delete --name 'old campaign' --wait-for-approval",
  );
  for (const decision of ['approve', 'reject'] as const) {
    const command = withQps(monitors.command(decision))
      .description(`${decision} a batch that waits for approval`)
      .argument('<job>', 'name of the batch, as printed by the command that started it')
      .option('--why <text>', 'reason, for the audit')
      .option('--json', 'one JSON object on stdout')
      .action((job, flags) => chosen(async (context) => (await batch()).decide(context, decision, job, flags)));
    withExamples(command, `searchflow monitors ${decision} monitors-delete-1 --why 'campaign is over'`);
  }
}

function withId(command: Command): Command {
  return command.argument('<id>', 'id of the monitor');
}

function withFilter(command: Command): Command {
  return command
    .option('--name <text>', 'part of the name, case-insensitive')
    .option('--metadata <key=value>', 'exact key=value match; repeatable, all must match', many)
    .option('--status <status>', 'current status: active, paused or disabled');
}

function withBatch(command: Command): Command {
  return withFilter(command)
    .option('--limit <n>', 'monitors per call, 1 to 500 (default: 100)')
    .option('--yes', 'approval in advance, without a prompt')
    .option('--wait-for-approval', 'wait for `searchflow monitors approve`, from any terminal')
    .option('--into <address>', 'warehouse of the audit (default: out/monitors.duckdb)')
    .option('--json', 'the effect as one JSON object on stdout');
}
