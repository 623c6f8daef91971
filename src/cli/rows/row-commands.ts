import { type Command, Option } from 'commander';
import { publishModes, publishPartitions } from '../../core/publish-request.js';
import { defaultSchemes } from '../../core/rows/job.js';
import { rowOperations } from '../../core/rows/row-operation.js';
import { fileFormats } from '../../core/rows/source-fields.js';
import { many, uncheckedOption, withCsvForm, withExamples, withRate } from '../options/options.js';
import { withSchedule } from '../schedules/schedule-flags.js';
import type { Context, ExitCode } from '../shared/context.js';
import type { EnrichCommandFlags } from './enrich.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const FILE =
  'CSV, JSON Lines or Parquet file, DuckDB file with --sql or --table, or postgres://host/database with --sql; - for stdin';

/** Adds `enrich`, which buys one operation (`--op`) for each row. */
export function addEnrich(program: Command, chosen: Chosen): void {
  const command = program
    .command('enrich')
    .description(
      'buy page contents (or another --op) for every row of a table; run the same command again to resume a stopped job',
    )
    .argument('[file]', FILE)
    .addOption(
      new Option('--op <operation>', 'operation to buy for each row (default: contents)').choices([...rowOperations]),
    )
    .option('--query <template>', 'template of the query, such as "{{name}} official site"')
    .option('--num-results <n>', 'results per search; the service allows most teams 1 to 100')
    .option('--url-column <name>', 'column of the URLs (default: found by name and contents)')
    .addOption(
      new Option(
        '--default-scheme <scheme>',
        'scheme to add to URLs without a scheme: https turns example.com into https://example.com (default: add nothing)',
      ).choices([...defaultSchemes]),
    )
    .option('--text', 'page text (the default of --op contents)')
    .option('--highlights', 'snippets of each page')
    .option('--summary [question]', 'summary of each page; with a question, a summary that answers the question')
    .option('--max-age-hours <n>', "maximum age of the service's cached pages; 0: always fetch, -1: never fetch")
    .option('--batch <n>', 'URLs per contents request, 1 to 100 (default: 100)');
  withRequest(command);
  withJob(command).action((file: string | undefined, flags: EnrichCommandFlags) =>
    chosen(async (context) => (await import('./enrich.js')).enrich(context, file, flags)),
  );
  withExamples(
    command,
    'searchflow enrich companies.csv --url-column website --dry-run',
    'searchflow enrich companies.csv --url-column website --csv out/companies.csv --max-cost 20',
    "searchflow enrich companies.csv --op search --query '{{name}} official site' --num-results 5",
  );
}

/** Adds `agent rows`, which is `enrich --op agent`. */
export function addAgentRows(agent: Command, chosen: Chosen): void {
  const command = agent
    .command('rows')
    .description('start an agent run for every row of a table; the output of a run becomes columns')
    .argument('[file]', FILE)
    .option('--query <template>', 'template of the query, such as "Find the CEO of {{name}}"');
  withRequest(command);
  withJob(command).action((file: string | undefined, flags: EnrichCommandFlags) =>
    chosen(async (context) => (await import('./enrich.js')).enrich(context, file, { ...flags, op: 'agent' })),
  );
  withExamples(
    command,
    "searchflow agent rows companies.csv --query 'Find the CEO of {{name}}' --schema schema.json --effort low --max-cost 20",
  );
}

/** Adds the flags for request fields that several operations share. */
function withRequest(command: Command): Command {
  return command
    .option(
      '--schema <file>',
      'JSON Schema of the output: the file, or the JSON itself, at most 256 KB; its properties become columns',
    )
    .option(
      '--effort <effort>',
      'effort of agent runs: minimal, low, medium, high, xhigh; auto, max and ultra are billed by usage',
    )
    .option('--rows-per-run <n>', 'rows per agent run, 1 to 100 (default: 1)')
    .option('--request <file>', 'whole request as JSON; its strings are templates')
    .option('--option <name=json>', 'any other field of the request, such as subpages=2; repeatable', many)
    .option(...uncheckedOption);
}

/** Adds the flags that decide how a job of rows is run. */
function withJob(command: Command): Command {
  return withCsvForm(
    withRate(
      withSchedule(command)
        .option('--from <file>', 'the file or database, in place of the argument')
        .addOption(
          new Option('--format <format>', 'format of the file (default: by its name)').choices([...fileFormats]),
        )
        .option(
          '--sql <select>',
          'one SELECT on a DuckDB file or a database, such as "SELECT * FROM brands ORDER BY id"; needs --job',
        )
        .option('--table <name>', 'table or view of a DuckDB file')
        .option('--delimiter <char>', 'delimiter of the CSV: tab, semicolon, pipe or one character (default: detected)')
        .option(
          '--encoding <name>',
          'encoding of the CSV, such as windows-1252, utf-16le or shift_jis (default: that of its byte order mark, or utf-8)',
        )
        .option(
          '--key <column>',
          "column that identifies a row, so that a moved or edited row keeps its answer; repeatable (default: the key of the job's last run)",
          many,
        )
        .option('--no-key', 'match rows by all their cells, as without --key')
        .option('--job <name>', 'name of the job (default: the name of the file)')
        .option('--into <address>', 'DuckDB file, or postgres://host/database (default: out/<name>.duckdb)')
        .option('--csv <file>', 'enriched CSV to write at the end')
        .option(
          '--publish <target>',
          'after a complete run, publish the rows: a folder, s3://bucket/prefix, .duckdb file, ducklake:<file> or postgres://host/database',
        )
        .addOption(
          new Option(
            '--publish-mode <mode>',
            'effect on rows of the target (default: replace; with a key: merge)',
          ).choices(publishModes),
        )
        .option('--publish-key <column>', 'column that identifies a row, for --publish-mode merge; repeatable', many)
        .addOption(
          new Option('--publish-partition <by>', 'folders by run or by day of the publish (default: none)').choices(
            publishPartitions,
          ),
        )
        .option('--max-cost <dollars>', 'cap of this run, such as 20; the run pauses at the cap; none: no cap')
        .option('--max-run-time <duration>', 'maximum wait for an agent run, which is then left running (default: 6h)')
        .option('--refresh-after <duration>', 'maximum age of results, such as 30d; older results are bought again')
        .option('--retry-failed', 'at the start, buy again the rows of earlier runs that failed for a temporary reason')
        .option(
          '--redrive',
          'at the end, also buy again the rows whose failure was or may have been charged (default: only those that cost nothing)',
        )
        .option(
          '--skip-refused',
          'count refused rows as failed, even if the service refuses all rows (default: the job then pauses)',
        )
        .option(
          '--stop-at-failed <percent>',
          'the job pauses if this share of the answers fails, such as 20%; empty answers count; none: no limit (default: none)',
        )
        .option('--stop-after <n>', 'rows that are answered before --stop-at-failed counts (default: 50)')
        .option(
          '--accept-warning <code>',
          'warning of the service that does not pause the job, such as IGNORED_FIELD; repeatable',
          many,
        )
        .option('--rebuy', 'buy again the answers that are in neither journal nor warehouse')
        .option('--limit <n>', 'first n rows only; a later run without --limit buys the rest (default: all rows)')
        .option('--reparse', 'parse again the paid answers that could not be parsed; nothing is bought')
        .option('--dry-run', 'the plan with cost and time only; nothing is bought')
        .option('--yes', 'no confirmation prompts')
        .option('--detach', 'start the job on the workers, print its id and return; needs `searchflow worker`')
        .option(
          '--fail-on-failed-rows [n|%]',
          'exit code 3 if more than n rows, or n% of the tried rows, fail; without a value: if any row fails',
        )
        .option('--json', 'the summary (or plan) as one JSON object on stdout'),
    ),
  );
}
