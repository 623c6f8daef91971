import { type Command, Option } from 'commander';
import { many, withExamples, withRate } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Adds the commands that run something on this machine: workers, the demonstration, the sandbox. */
export function addLocal(program: Command, chosen: Chosen): void {
  const worker = withRate(program.command('worker'))
    .description('run a worker until Ctrl-C')
    .action((flags) => chosen(async (context) => (await import('./worker.js')).worker(context, flags)));
  withExamples(worker, 'searchflow worker');
  const dev = withRate(program.command('dev'))
    .description('run a Temporal server, a worker and (without an API key) a sandbox until Ctrl-C')
    .action((flags) => chosen(async (context) => (await import('./worker.js')).worker(context, flags)));
  withExamples(dev, 'searchflow dev');
  const start = program
    .command('start')
    .description('run the demonstration: enrich the example brands on the sandbox')
    .option('--live', 'use the real service instead of the sandbox, after a confirmation')
    .option('--yes', 'no confirmation prompts')
    .option('--qps <n>', 'requests per second (default: 5)')
    .option('--dry-run', 'the plan only; nothing is bought')
    .option('--json', 'the summary as one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('../rows/start.js')).start(context, flags)));
  withExamples(start, 'searchflow start', 'searchflow start --live --dry-run');
  addSandbox(program, chosen);
}

function addSandbox(program: Command, chosen: Chosen): void {
  const sandbox = program
    .command('sandbox')
    .description('run a local stand-in for the service until Ctrl-C; its URL is printed on stdout')
    .option('--port <n>', 'port on 127.0.0.1 (default: a free port)')
    .option('--qps <n>', 'strict rate limit, in requests per second (default: none)')
    .option('--latency-ms <n>', 'time of an answer in milliseconds, or a range such as 100-400')
    .option('--error-rate <share>', 'share of URLs that fail, 0 to 1 (default: 0.03)')
    .addOption(
      new Option('--retry-after <form>', 'form of the Retry-After header in 429 answers (default: none)').choices([
        'none',
        'seconds',
        'http-date',
      ]),
    )
    .option('--retry-after-seconds <n>', 'seconds in the Retry-After header (default: 1)')
    .option(
      '--fault <fault>',
      "fault as JSON or words: 'every=20 kind=status status=429 retryAfter=3'; repeatable",
      many,
    )
    .option('--ledger <file>', 'ledger file of the sandbox, kept across restarts')
    .option('--key <key>', 'accepted API key; repeatable (default: any)', many)
    .option('--credits <dollars>', 'credits of the team; once they are used up, the answer is 402 (default: no limit)')
    .option('--seed <n>', 'seed of the made-up pages and failures (default: 1)')
    .option('--text-bytes <n>', 'characters of page text (default: 1000)')
    .option('--x402', 'on /search and /contents, answer 402 with the x402 payment challenge if the key is missing')
    .option('--agent-run-ms <n>', 'time of an agent run in milliseconds, or a range (default: 500-2000)')
    .option('--monitor-clock <n>', 'speed of monitor schedules; 3600 turns an hour into a second')
    .option('--events <n>', 'webset events in the history (default: 1000)')
    .option('--events-per-second <n>', 'rate of new events (default: 0)')
    .option('--set <name=json>', 'any other setting, such as agentRuns.failureRate=0.1; repeatable', many)
    .action((flags) => chosen(async (context) => (await import('./sandbox.js')).sandbox(context, flags)));
  withExamples(sandbox, 'searchflow sandbox', 'searchflow sandbox --qps 10 --latency-ms 100-400 --error-rate 0.1');
  const trigger = sandbox
    .command('trigger')
    .description('make a running sandbox emit an event, run a monitor or disable a monitor; prints the ids')
    .argument('<what>', 'monitor-run, disable-monitor, or the type of a webset event such as webset.idle')
    .argument('[id]', 'id of the monitor')
    .option('--url <url>', 'URL of the sandbox (default: SEARCHFLOW_BASE_URL)')
    .option('--count <n>', 'number of events (default: 1)')
    .action((what, id, flags) =>
      chosen(async (context) => (await import('./sandbox-trigger.js')).trigger(context, what, id, flags)),
    );
  withExamples(trigger, 'searchflow sandbox trigger webset.idle --count 3 --url http://127.0.0.1:4010');
}
