import type { Command } from 'commander';
import { many, withRate } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';
import type { AgentRunFlags } from './agent-request.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** `agent run`, `agent list` and `agent cancel`. */
export function addAgentRuns(agent: Command, chosen: Chosen): void {
  withRate(agent.command('run'))
    .description('one agent run to its result; the same command attaches to a run that goes on, and pays once')
    .argument('[query]', 'what to find out')
    .option('--schema <file>', 'JSON Schema of the structured output')
    .option('--effort <effort>', 'minimal, low, medium, high, xhigh; auto (the default) and more are metered')
    .option('--max-cost <dollars>', 'what the run may cost; a metered one has it as its budget')
    .option('--max-duration <duration>', 'stop or cancel a run that takes longer, such as 20m')
    .option('--previous <run>', 'go on from this completed run')
    .option('--request <file>', 'the whole request as JSON')
    .option('--option <name=json>', 'any other field of the request; may be repeated', many)
    .option('--anew', 'start another run where the same request was answered before')
    .option('--delete-after', 'delete the run at the service once its result is here')
    .option('--yes', 'ask nothing')
    .option('--stream', 'print its events as they come')
    .option('--json', 'the result (and each event) as one JSON object a line on stdout')
    .action((query: string | undefined, flags: AgentRunFlags) =>
      chosen(async (context) => (await import('./agent-run.js')).agentRun(context, query, flags)),
    );
  agent
    .command('list')
    .description('the latest agent runs of the team, a line each')
    .option('--limit <n>', 'at most so many, 1 to 100 (default: 20)')
    .option('--json', 'one JSON array')
    .action((flags) => chosen(async (context) => (await import('./agent-list.js')).agentList(context, flags)));
  agent
    .command('cancel')
    .description('cancel a run at the service; what it used is billed')
    .argument('<id>', 'of the run')
    .option('--json', 'the run as one JSON object')
    .action((id, flags) =>
      chosen(async (context) => (await import('./agent-cancel.js')).agentCancel(context, id, flags)),
    );
}
