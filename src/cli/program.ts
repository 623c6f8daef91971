import { Command, CommanderError, Option } from 'commander';
import { exitCodeMeanings } from '../core/rows/exit-codes.js';
import { addAgentRuns } from './agents/agent-commands.js';
import { addEvents } from './events/event-program.js';
import { addMonitors } from './monitors/monitor-program.js';
import { many, withRate } from './options/options.js';
import { addAgentRows, addEnrich } from './rows/row-commands.js';
import { addSchedules } from './schedules/schedule-program.js';
import { type Context, type ExitCode, exitCodes } from './shared/context.js';

const exitCodesText = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n')}`;

type Action = (context: Context) => Promise<ExitCode>;

/**
 * The command line. Nothing runs here: `chosen` gets what to run, and each command loads its own code, so that `--help` needs
 * none of it.
 */
export function buildProgram(version: string, chosen: (action: Action) => void): Command {
  const program = new Command('searchflow')
    .description(
      'A web-search service as durable ETL. Without a key (SEARCHFLOW_API_KEY or EXA_API_KEY) it works on a sandbox.',
    )
    .version(version, '-v, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('(--help shows what there is)')
    .helpCommand(false)
    .addHelpText('after', exitCodesText)
    .exitOverride();

  addEnrich(program, chosen);
  const agent = program.command('agent').description('agent runs');
  addAgentRuns(agent, chosen);
  addAgentRows(agent, chosen);
  program
    .command('export')
    .description('write the rows of a job to files, any time')
    .argument('<job>', 'name or id of the job')
    .option('--csv <file>', 'the enriched CSV; - for stdout')
    .option('--parquet <dir>', 'Parquet files, into a directory of their own')
    .action((job, flags) =>
      chosen(async (context) => (await import('./rows/export.js')).exportJob(context, job, flags)),
    );
  program
    .command('status')
    .description('where a job stands')
    .argument('<job>', 'name or id of the job')
    .option('--json', 'one JSON object')
    .action((job, flags) => chosen(async (context) => (await import('./rows/status.js')).status(context, job, flags)));
  program
    .command('pause')
    .description('let paid requests in flight land, start no more')
    .argument('<job>', 'name or id of the job')
    .action((job) => chosen(async (context) => (await import('./rows/control.js')).pause(context, job)));
  withRate(program.command('resume'))
    .description('go on with a paused job, and watch it')
    .argument('<job>', 'name or id of the job')
    .option('--max-cost <dollars>', 'what this run may cost from its start, or none (default: as before)')
    .option('--json', 'the summary as one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./rows/control.js')).resume(context, job, flags)));
  program
    .command('cancel')
    .description('end a job; what it bought stays bought')
    .argument('<job>', 'name or id of the job')
    .action((job) => chosen(async (context) => (await import('./rows/control.js')).cancel(context, job)));
  program
    .command('jobs')
    .description('the jobs of this folder, or of its store')
    .option('--json', 'one JSON array')
    .action((flags) => chosen(async (context) => (await import('./rows/jobs.js')).jobs(context, flags)));
  addMoney(program, chosen);
  withRate(program.command('worker'))
    .description('run a worker until Ctrl-C')
    .action((flags) => chosen(async (context) => (await import('./local/worker.js')).worker(context, flags)));
  withRate(program.command('dev'))
    .description('Temporal server, sandbox (without a key) and worker, until Ctrl-C')
    .action((flags) => chosen(async (context) => (await import('./local/worker.js')).worker(context, flags)));
  program
    .command('start')
    .description('the demonstration of `npm start`: the example brands, on the sandbox')
    .option('--live', 'on the real service, for real money; asks first')
    .option('--yes', 'ask nothing')
    .option('--qps <n>', 'requests a second')
    .option('--dry-run', 'say what would be bought, buy nothing')
    .option('--json', 'the summary as one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./rows/start.js')).start(context, flags)));
  addEvents(program, chosen);
  addMonitors(program, chosen);
  addSchedules(program, chosen);
  addSandbox(program, chosen);
  return program;
}

function addMoney(program: Command, chosen: (action: Action) => void): void {
  const limits = withRate(program.command('limits'))
    .description('rate, slots and money of the team: what is set, what is left')
    .option('--json', 'one JSON object')
    .action((flags) => chosen(async (context) => (await import('./team/limits.js')).limits(context, flags)));
  limits
    .command('set')
    .description('set what the team may spend')
    .option('--per-day <dollars>', 'a day of UTC; none: no cap')
    .option('--per-month <dollars>', 'a month of UTC; none: no cap')
    .action((flags) => chosen(async (context) => (await import('./team/limits.js')).setLimits(context, flags)));
  program
    .command('usage')
    .description('what was bought')
    .addOption(new Option('--by <group>', 'a line for each').choices(['job', 'operation', 'day']).default('job'))
    .option('--since <day>', 'a day of UTC: 2026-11-01, or 30d for that 30 days ago')
    .option('--until <day>', 'the last one, the same')
    .option('--json', 'one JSON object')
    .action((flags) => chosen(async (context) => (await import('./team/usage.js')).usage(context, flags)));
}

function addSandbox(program: Command, chosen: (action: Action) => void): void {
  const sandbox = program
    .command('sandbox')
    .description('a local stand-in for the service; prints its URL and runs until Ctrl-C')
    .option('--port <n>', 'port on 127.0.0.1 (default: a free one)')
    .option('--qps <n>', 'strict limit of requests a second (default: none)')
    .option('--latency-ms <n>', 'time an answer takes, or a range such as 100-400')
    .option('--error-rate <share>', 'share of URLs that fail, 0 to 1 (default: 0.03)')
    .addOption(new Option('--retry-after <form>', 'header on its 429s').choices(['none', 'seconds', 'http-date']))
    .option('--retry-after-seconds <n>', 'what that header asks for (default: 1)')
    .option('--fault <fault>', "JSON, or words: 'every=20 kind=status status=429 retryAfter=3'; may be repeated", many)
    .option('--book <file>', 'keep the purchase book here, across restarts')
    .option('--key <key>', 'accept only this key; may be repeated (default: any)', many)
    .option('--credits <dollars>', 'answer 402 when they are used up')
    .option('--seed <n>', 'other pages and failures')
    .option('--text-bytes <n>', "characters of a page's text (default: 1000)")
    .option('--x402', 'answer a missing key with the 402 payment challenge')
    .option('--prebuilt', 'answers from pages made beforehand, for measuring a client')
    .option('--agent-run-ms <n>', 'time an agent run takes, or a range (default: 500-2000)')
    .option('--monitor-clock <n>', 'how much faster schedules go than the clock: 3600 makes an hour a second')
    .option('--events <n>', 'webset events in the history (default: 1000)')
    .option('--events-per-second <n>', 'new ones that arrive (default: 0)')
    .option('--set <name=json>', 'any other option, such as agentRuns.failureRate=0.1; may be repeated', many)
    .action((flags) => chosen(async (context) => (await import('./local/sandbox.js')).sandbox(context, flags)));
  sandbox
    .command('trigger')
    .description('make something happen in a running sandbox; prints the ids of it')
    .argument('<what>', 'a type of webset event such as webset.idle, or monitor-run or disable-monitor')
    .argument('[id]', 'of the monitor')
    .option('--url <url>', 'where the sandbox is (default: SEARCHFLOW_BASE_URL)')
    .option('--count <n>', 'how many events')
    .action((what, id, flags) =>
      chosen(async (context) => (await import('./local/sandbox-trigger.js')).trigger(context, what, id, flags)),
    );
}

/** Whether commander has already said all there is to say: help, version, or a usage error. */
export function saidAlready(error: unknown): ExitCode | null {
  if (!(error instanceof CommanderError)) return null;
  return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
}
