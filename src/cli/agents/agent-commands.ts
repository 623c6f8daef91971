import type { Command } from 'commander';
import { many, uncheckedOption, withExamples, withQps, withRate } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';
import type { AgentRunFlags } from './agent-request.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Adds `agent run`, `agent list` and `agent cancel`. */
export function addAgentRuns(agent: Command, chosen: Chosen): void {
  const run = withRate(agent.command('run'))
    .description('start one agent run and print its result; run the same command again to attach to the run')
    .argument('[query]', 'question or task')
    .option('--schema <file>', 'JSON Schema of the structured output: the file, or the JSON itself, at most 256 KB')
    .option(
      '--effort <effort>',
      'minimal, low, medium, high, xhigh; auto (the default), max and ultra are billed by usage',
    )
    .option(
      '--max-cost <dollars>',
      'cap of the run, such as 2; at least 1 for auto, max and ultra, because the cap is their budget',
    )
    .option('--max-duration <duration>', 'maximum time of the run before it is cancelled, such as 20m')
    .option('--previous <run>', 'id of a completed run to continue from')
    .option('--request <file>', 'whole request as JSON')
    .option('--option <name=json>', 'any other field of the request; repeatable', many)
    .option(...uncheckedOption)
    .option('--rebuy', 'start a new run even if the same request was answered before')
    .option('--delete-after', 'delete the run at the service after its result has landed')
    .option('--yes', 'no confirmation prompts')
    .option('--stream', 'the events of the run on stdout as they arrive')
    .option('--json', 'the result, and with --stream each event, as one JSON object a line on stdout')
    .action((query: string | undefined, flags: AgentRunFlags) =>
      chosen(async (context) => (await import('./agent-run.js')).agentRun(context, query, flags)),
    );
  withExamples(
    run,
    "searchflow agent run 'Who is the CEO of Example Inc.?' --effort low",
    "searchflow agent run 'List the offices of Example Inc.' --schema schema.json --max-cost 2 --max-duration 20m",
  );
  const list = agent
    .command('list')
    .description('list the latest agent runs of the team')
    .option('--limit <n>', 'number of runs, 1 to 100 (default: 20)')
    .option('--json', 'one JSON array on stdout')
    .action((flags) => chosen(async (context) => (await import('./agent-runs.js')).agentList(context, flags)));
  withExamples(list, 'searchflow agent list --limit 5');
  const sync = withSchedule(withQps(agent.command('sync')))
    .description('load all agent runs of the team into a warehouse, also those that other clients started; free')
    .option('--into <address>', 'DuckDB file or PostgreSQL warehouse (default: out/agent-runs.duckdb)')
    .option('--json', 'the counts as one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./agent-runs.js')).agentSync(context, flags)));
  withExamples(sync, 'searchflow agent sync', 'searchflow agent sync --into out/runs.duckdb --every 1h');
  const cancel = agent
    .command('cancel')
    .description('cancel an agent run at the service, which charges for the work done')
    .argument('<id>', 'id of the run')
    .option('--json', 'the run as one JSON object on stdout')
    .action((id, flags) =>
      chosen(async (context) => (await import('./agent-runs.js')).agentCancel(context, id, flags)),
    );
  withExamples(cancel, 'searchflow agent cancel agent_run_1');
}
