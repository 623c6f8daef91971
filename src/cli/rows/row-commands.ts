import { type Command, Option } from 'commander';
import { defaultSchemes } from '../../core/rows/job.js';
import { rowOperations } from '../../core/rows/row-operation.js';
import { many, withRate } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';
import type { EnrichCommandFlags } from './enrich.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** `enrich`, which buys for each row whatever `--op` says. */
export function addEnrich(program: Command, chosen: Chosen): void {
  const command = program
    .command('enrich')
    .description('page contents for every row of a CSV, into a warehouse; the same command makes a stopped job go on')
    .argument('<file>', 'CSV or .csv.gz; - for standard input')
    .addOption(
      new Option('--op <operation>', 'what to buy for each row (default: contents)').choices([...rowOperations]),
    )
    .option('--query <template>', 'what to search, answer or research, such as "{{name}} official site"')
    .option('--num-results <n>', 'results of a search, 1 to 100')
    .option('--url-column <name>', 'column that holds the URLs (default: found by name and contents)')
    .addOption(
      new Option('--default-scheme <scheme>', 'added to URLs without one, such as firma.de (default: none)').choices([
        ...defaultSchemes,
      ]),
    )
    .option('--text', 'page text (for contents the default where nothing else is asked for)')
    .option('--highlights', 'snippets')
    .option('--summary [question]', 'a summary, of what answers the question if one is given')
    .option('--max-age-hours <n>', 'fetch pages anew that the service holds for longer; 0 always, -1 never')
    .option('--batch <n>', 'URLs a request of contents, 1 to 100 (default: 100)');
  withRequest(command);
  withJob(command).action((file: string, flags: EnrichCommandFlags) =>
    chosen(async (context) => (await import('./enrich.js')).enrich(context, file, flags)),
  );
}

/** `agent rows`, which is `enrich --op agent`. */
export function addAgentRows(agent: Command, chosen: Chosen): void {
  const command = agent
    .command('rows')
    .description('an agent run for every row of a CSV, its output as columns of a warehouse')
    .argument('<file>', 'CSV or .csv.gz; - for standard input')
    .option('--query <template>', 'what to find out, such as "Find the CEO of {{name}}"');
  withRequest(command);
  withJob(command).action((file: string, flags: EnrichCommandFlags) =>
    chosen(async (context) => (await import('./agent-rows.js')).agentRows(context, file, flags)),
  );
}

/** What a request may hold beside what its operation has flags for. */
function withRequest(command: Command): Command {
  return command
    .option('--schema <file>', 'JSON Schema of the output; its properties become columns')
    .option('--effort <effort>', 'of an agent run: minimal, low, medium, high, xhigh; auto and more are metered')
    .option('--rows-per-run <n>', 'rows that an agent run gets together, 1 to 100 (default: 1)')
    .option('--request <file>', 'the whole request as JSON, its texts templates over the columns')
    .option('--option <name=json>', 'any other field of the request; may be repeated', many);
}

/** How a job of rows is run. */
function withJob(command: Command): Command {
  return withRate(
    withSchedule(command)
      .option('--delimiter <char>', 'of the input; tab, semicolon, pipe or the character itself')
      .option('--job <name>', "name of the job (default: the file's)")
      .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/<name>.duckdb)')
      .option('--csv <file>', 'also write the enriched CSV here')
      .option('--max-cost <dollars>', 'pause before this run costs more; none lifts it')
      .option(
        '--max-run-time <duration>',
        'leave an agent run or research task running that takes longer (default: 6h)',
      )
      .option('--refresh-after <duration>', 'buy again what is older, such as 30d')
      .option('--retry-failed', 'buy again rows that failed for a passing reason')
      .option('--rebuy', 'buy again what was bought but is gone from journal and warehouse')
      .option('--limit <n>', 'try the first n rows; the same command without it buys only the rest (default: all rows)')
      .option('--reparse', 'read paid answers again that were not understood; buy nothing')
      .option('--dry-run', 'say what would be bought, for how much and how long; buy nothing')
      .option('--yes', 'ask nothing')
      .option('--fail-on-failed-rows [n|%]', 'exit with 3 where more rows failed than n, or n% (default: any)')
      .option('--json', 'the summary (or plan) as one JSON object on stdout'),
  );
}
