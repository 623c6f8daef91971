import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { exitCodeMeanings } from '../core/processes/exit-codes.js';
import { addAgentRuns } from './agents/agent-commands.js';
import { addEvents } from './events/event-program.js';
import { addLocal } from './local/local-program.js';
import { addMonitors } from './monitors/monitor-program.js';
import { helpGroups, withExamples } from './options/options.js';
import { addPublish } from './publish/publish-program.js';
import { addJobs } from './rows/job-commands.js';
import { addAgentRows, addEnrich } from './rows/row-commands.js';
import { addSchedules } from './schedules/schedule-program.js';
import { type Context, type ExitCode, exitCodes } from './shared/context.js';
import { addTeam } from './team/team-program.js';

const exitCodesText = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n')}`;

type Action = (context: Context) => Promise<ExitCode>;

/**
 * Returns the command line. Parsing runs no command: `chosen` gets the action that the caller then runs. Each command loads its
 * own code, so that `--help` stays fast.
 */
export function buildProgram(
  version: string,
  chosen: (action: Action) => void,
  output: OutputConfiguration = {},
): Command {
  const program = new Command('searchflow')
    .description(
      'Enrich tables with a web-search API, as durable jobs. Without an API key (SEARCHFLOW_API_KEY or EXA_API_KEY) it uses a local sandbox.',
    )
    .version(version, '-v, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('(run with --help for usage)')
    .helpCommand(false)
    .configureOutput(output)
    .exitOverride();

  program.commandsGroup(helpGroups.jobs);
  addEnrich(program, chosen);
  addJobs(program, chosen);
  addPublish(program, chosen);
  program.commandsGroup(helpGroups.events);
  addEvents(program, chosen);
  program.commandsGroup(helpGroups.agents);
  const agent = program.command('agent').description('agent runs: one, or one for each row of a CSV');
  withExamples(agent, "searchflow agent run 'Who is the CEO of Example Inc.?' --effort low --max-cost 0.50");
  addAgentRuns(agent, chosen);
  addAgentRows(agent, chosen);
  program.commandsGroup(helpGroups.monitors);
  addMonitors(program, chosen);
  program.commandsGroup(helpGroups.schedules);
  addSchedules(program, chosen);
  program.commandsGroup(helpGroups.team);
  addTeam(program, chosen);
  program.commandsGroup(helpGroups.local);
  addLocal(program, chosen);
  program.addHelpText('after', exitCodesText);
  return withExamples(
    program,
    'searchflow enrich companies.csv --url-column website --dry-run',
    'searchflow enrich --help',
  );
}

/** If commander has already printed help, the version or a usage error, returns the exit code. Otherwise returns null. */
export function saidAlready(error: unknown): ExitCode | null {
  if (!(error instanceof CommanderError)) return null;
  return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
}
