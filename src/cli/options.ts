import { defaultSchemes, fileFormats, MAX_BATCH_LIMIT, publishModes, publishPartitions } from '../core/choices.js';
import { rowOperations } from '../core/rows/row-operation.js';
import { amount, rowNumber, value, wholeNumber } from './flag-values.js';
import { contentsFlags } from './request-fields.js';

const many = (help: string) => ({ help, many: true }) as const;
export const oneOf = <const C extends readonly string[]>(choices: C, help: string) => ({ help, choices });

/** The states of jobs: those of the glossary. */
const jobStates = [
  ...['planning', 'running', 'waiting', 'paused', 'stopped', 'interrupted', 'done', 'failed', 'cancelled'],
  'waiting for a worker',
];

/** `--qps`, for commands whose calls are free. */
const qps = { '--qps <n>': "this process's share of the team's rate, in requests per second (default: 10)" };

const rateProfile = {
  '--rate-profile <name>': 'rate profile instead of --qps: contract, boost, public or a JSON file',
};

/** For commands that send paid requests at the team's rate. */
const rate = {
  ...qps,
  ...rateProfile,
  '--concurrency <n>':
    'maximum number of paid requests in flight, 1 to 256 (default: enough for the rate limit at 5 s latency)',
  '--keep-landing <days>': 'days that paid answers stay in the journal after they are loaded (default: 7)',
};

const schedule = {
  '--every <duration>': 'schedule with an interval, such as 15m, 6h or 1d; never: delete the schedule',
  '--cron <expression>': 'schedule with a cron expression, such as "0 6 * * *"',
  '--tz <zone>': 'time zone of --cron, such as Europe/Berlin (default: UTC)',
  '--schedule-name <name>': 'name of the schedule (default: the name of the job)',
};

const json = { '--json': 'one JSON object on stdout' };
const jsonArray = { '--json': 'one JSON array on stdout' };
const jsonSummary = { '--json': 'the summary as one JSON object on stdout' };
const jsonPlan = { '--json': 'the summary (or plan) as one JSON object on stdout' };
const yes = { '--yes': 'no confirmation prompts' };
const planOnly = { '--dry-run': 'the plan with cost and time only; nothing is bought' };
const detach = { '--detach': 'start the work on the workers, print its id and return; needs `searchflow worker`' };
/** Requests are sent as they are. */
const unchecked = {
  '--unchecked':
    'send misspelt names and values of the request, too (default: they are refused, with the nearest name)',
};
const cap = { '--max-cost <dollars>': 'cap of this run, such as 20; the run pauses at the cap; none: no cap' };
const stopAfter = { '--stop-after <n>': 'rows that are answered before --stop-at-failed counts (default: 50)' };
const failOnFailedRows = {
  '--fail-on-failed-rows [n|%]':
    'exit code 3 if more than n rows, or n% of the tried rows, fail; without a value: if any row fails',
};
const rows = { '--row <n>': many('row with this number, from 1; repeatable') };
const days = {
  '--since <day>': 'first day, as a UTC date (2026-11-01) or an age (30d)',
  '--until <day>': 'last day, in the format of --since',
};

const csvForm = {
  '--csv-delimiter <char>':
    'delimiter of the enriched CSV: comma, tab, semicolon, pipe or one character (default: as the input)',
  '--csv-bom': 'begin the enriched CSV with a byte order mark (default: as the input)',
  '--no-csv-bom': 'write the enriched CSV without a byte order mark',
};

/** Fields of the request for each row that several operations share. */
const rowRequest = {
  '--schema <file>':
    'JSON Schema of the output: the file, or the JSON itself, at most 256 KB; its properties become columns',
  '--effort <effort>':
    'effort of agent runs: minimal, low, medium, high, xhigh; auto, max and ultra are billed by usage',
  '--rows-per-run <n>': 'rows per agent run, 1 to 100 (default: 1)',
  '--request <file>': 'whole request as JSON; its strings are templates',
  '--option <name=json>': many('any other field of the request, such as subpages=2; repeatable'),
  ...unchecked,
};

const rowJob = {
  ...schedule,
  '--from <file>': 'the file or database, in place of the argument',
  '--format <format>': oneOf(fileFormats, 'format of the file (default: by its name)'),
  '--sql <select>':
    'one SELECT on a DuckDB file or a database, such as "SELECT * FROM brands ORDER BY id"; needs --job',
  '--table <name>': 'table or view of a DuckDB file',
  '--delimiter <char>': 'delimiter of the CSV: tab, semicolon, pipe or one character (default: detected)',
  '--encoding <name>':
    'encoding of the CSV, such as windows-1252, utf-16le or shift_jis (default: that of its byte order mark, or utf-8)',
  '--key <column>': many(
    "column that identifies a row, so that a moved or edited row keeps its answer; repeatable (default: the key of the job's last run)",
  ),
  '--no-key': 'match rows by all their cells, as without --key',
  '--job <name>': 'name of the job (default: the name of the file)',
  '--into <address>': 'DuckDB file, or postgres://host/database (default: out/<name>.duckdb)',
  '--csv <file>': 'enriched CSV to write at the end',
  '--publish <target>':
    'after a complete run, publish the rows: a folder, s3://bucket/prefix, .duckdb file, ducklake:<file> or postgres://host/database',
  '--publish-mode <mode>': oneOf(publishModes, 'effect on rows of the target (default: replace; with a key: merge)'),
  '--publish-key <column>': many('column that identifies a row, for --publish-mode merge; repeatable'),
  '--publish-partition <by>': oneOf(publishPartitions, 'folders by run or by day of the publish (default: none)'),
  ...cap,
  '--max-run-time <duration>': 'maximum wait for an agent run, which is then left running (default: 6h)',
  '--refresh-after <duration>': 'maximum age of results, such as 30d; older results are bought again',
  '--retry-failed': 'at the start, buy again the rows of earlier runs that failed for a temporary reason',
  '--redrive':
    'at the end, also buy again the rows whose failure was or may have been charged (default: only those that cost nothing)',
  '--skip-refused': 'count refused rows as failed, even if the service refuses all rows (default: the job then pauses)',
  '--stop-at-failed <percent>':
    'the job pauses if this share of the answers fails, such as 20%; empty answers count; none: no limit (default: none)',
  ...stopAfter,
  '--accept-warning <code>': many(
    'warning of the service that does not pause the job, such as IGNORED_FIELD; repeatable',
  ),
  '--rebuy': 'buy again the answers that are in neither journal nor warehouse',
  '--limit <n>': 'first n rows only; a later run without --limit buys the rest (default: all rows)',
  '--reparse': 'parse again the paid answers that could not be parsed; nothing is bought',
  ...planOnly,
  ...yes,
  '--detach': 'start the job on the workers, print its id and return; needs `searchflow worker`',
  ...failOnFailedRows,
  ...jsonPlan,
  ...rate,
  ...csvForm,
};

const intoEvents = {
  '--into <address>': 'DuckDB file, or postgres://host/database (default: out/events.duckdb)',
  ...json,
};
const walk = {
  ...intoEvents,
  '--type <type>': many('event type, such as webset.item.created; repeatable (default: all)'),
  ...unchecked,
  '--parallel <n>': 'windows of time that are read at once (default: 16)',
  ...qps,
  ...rateProfile,
};
const range = {
  '--from <time>': 'start, as a UTC date (2026-01-01), an age (30d) or a time (2026-01-01T08:00+01:00)',
  '--until <time>': 'end, in the format of --from; dates are inclusive (default: a minute ago)',
};
const filter = {
  '--name <text>': 'part of the name, case-insensitive',
  '--metadata <key=value>': many('exact key=value match; repeatable, all must match'),
  '--status <status>': 'current status: active, paused or disabled',
};
const batch = {
  ...filter,
  '--limit <n>': value(wholeNumber(MAX_BATCH_LIMIT), 'monitors per call, 1 to 500 (default: 100)'),
  '--yes': 'approval in advance, without a prompt',
  '--wait-for-approval': 'wait for `searchflow monitors approve`, from any terminal',
  '--into <address>': 'warehouse of the audit (default: out/monitors.duckdb)',
  '--json': 'the effect as one JSON object on stdout',
  ...qps,
};
const scheduledBatch = { ...batch, ...schedule };

/** The flags of each command, by its words. */
export const options = {
  enrich: {
    '--op <operation>': oneOf(rowOperations, 'operation to buy for each row (default: contents)'),
    '--query <template>': 'template of the query, such as "{{name}} official site"',
    '--num-results <n>': 'results per search; the service allows most teams 1 to 100',
    '--url-column <name>': 'column of the URLs (default: found by name and contents)',
    '--default-scheme <scheme>': oneOf(
      defaultSchemes,
      'scheme to add to URLs without a scheme: https turns example.com into https://example.com (default: add nothing)',
    ),
    ...contentsFlags,
    '--batch <n>': 'URLs per contents request, 1 to 100 (default: 100)',
    ...rowRequest,
    ...rowJob,
  },
  jobs: { '--state <state>': { ...many('only jobs in this state; repeatable'), choices: jobStates }, ...jsonArray },
  status: json,
  resume: {
    ...rate,
    '--max-cost <dollars>': 'new cap of the whole run, such as 20; none removes it (default: unchanged)',
    '--redrive': 'at the end, also buy again the rows whose failure was or may have been charged',
    '--skip-refused': 'count refused rows as failed, even if the service refuses all rows',
    '--stop-at-failed <percent>':
      'new share of failed answers at which the job pauses, such as 40%; none removes it (default: unchanged)',
    ...stopAfter,
    '--accept-warning <code>': many('warning of the service that does not pause the job; repeatable'),
    '--detach': 'resume the job on the workers, print its id and return; needs `searchflow worker`',
    ...jsonSummary,
  },
  wait: {
    '--timeout <duration>': 'maximum wait, such as 2h; then exit code 7 (default: no limit)',
    ...failOnFailedRows,
    ...jsonSummary,
  },
  export: {
    ...csvForm,
    '--csv <file>': 'enriched CSV; - for stdout',
    '--parquet <dir>': 'folder for Parquet files',
  },
  retry: {
    ...rate,
    '--tag <tag>': many('rows that failed with this error tag; repeatable (default: the tags of temporary failures)'),
    ...rows,
    ...cap,
    ...planOnly,
    ...yes,
    ...jsonPlan,
  },
  discard: {
    '--tag <tag>': many('rows that failed with this error tag; repeatable'),
    ...rows,
    '--undo': 'let the rows count as failed again',
    ...json,
  },
  forget: {
    '--url <url>': 'rows of all jobs whose unit or cells have this URL',
    '--dry-run': 'the plan only; nothing is removed',
    ...yes,
    ...json,
  },
  clean: {
    '--older-than <duration>': 'only of jobs that ended longer ago, such as 7d (default: 30d)',
    '--dry-run': 'only list the files to remove',
    ...json,
  },
  failed: {
    '--tag <tag>': many('only rows with this error tag, such as CRAWL_TIMEOUT; repeatable'),
    '--limit <n>': value(wholeNumber(1000, 0), 'number of rows to list, 0 to 1000 (default: 20)'),
    ...json,
  },
  trace: {
    '--row <n>': value(rowNumber, 'number of the row in the input, from 1'),
    '--url <url>': 'URL of the row, instead of its number',
    '--answer': 'also the text of the answer, as it is kept in the journal',
    ...json,
  },
  publish: {
    '--to <target>': {
      help: 'folder (out/lake), s3://bucket/prefix, .duckdb file, ducklake:<file>, or postgres://host/database',
      mandatory: true,
    },
    '--from <address>':
      'warehouse of events or monitors (default: as in events status and monitors export), or the warehouse of the job with its user',
    '--mode <mode>': { ...oneOf(publishModes, 'effect on rows of the target'), default: 'replace' },
    '--key <column>': many('column that identifies a row, for --mode merge; repeatable'),
    '--partition <by>': oneOf(publishPartitions, 'folders by run or by day of the publish (UTC); default: none'),
    ...json,
  } as const,
  report: {
    '--out <file>': 'file that is written, ending with .html; - for stdout (default: out/NAME-report.html)',
    '--since <day>': { help: days['--since <day>'], default: '30d' },
    '--until <day>': `${days['--until <day>']} (default: today)`,
    '--open': 'open the file in the browser; only on a terminal',
    '--json': 'the figures as one JSON object on stdout; writes no file without --out',
  },
  'events sync': { ...walk, ...detach, ...schedule },
  'events backfill': { ...walk, ...detach, ...range },
  'events verify': {
    ...walk,
    ...range,
    '--strict': 'exit code 1 for any difference, even if it was repaired',
  },
  'events status': intoEvents,
  'agent run': {
    ...rate,
    '--schema <file>': 'JSON Schema of the structured output: the file, or the JSON itself, at most 256 KB',
    '--effort <effort>': 'minimal, low, medium, high, xhigh; auto (the default), max and ultra are billed by usage',
    '--max-cost <dollars>': value(
      amount,
      'cap of the run, such as 2; at least 1 for auto, max and ultra, because the cap is their budget',
    ),
    '--max-duration <duration>': 'maximum time of the run before it is cancelled, such as 20m',
    '--previous <run>': 'id of a completed run to continue from',
    '--request <file>': 'whole request as JSON',
    '--option <name=json>': many('any other field of the request; repeatable'),
    ...unchecked,
    '--rebuy': 'start a new run even if the same request was answered before',
    '--delete-after': 'delete the run at the service after its result has landed',
    ...yes,
    '--stream': 'the events of the run on stdout as they arrive',
    '--json': 'the result, and with --stream each event, as one JSON object a line on stdout',
  },
  'agent list': {
    '--limit <n>': value(wholeNumber(100), 'number of runs, 1 to 100 (default: 20)'),
    ...jsonArray,
  },
  'agent sync': {
    ...qps,
    ...schedule,
    '--into <address>': 'DuckDB file or PostgreSQL warehouse (default: out/agent-runs.duckdb)',
    '--json': 'the counts as one JSON object on stdout',
  },
  'agent cancel': { '--json': 'the run as one JSON object on stdout' },
  'agent rows': {
    '--query <template>': 'template of the query, such as "Find the CEO of {{name}}"',
    ...rowRequest,
    ...rowJob,
  },
  'monitors create': {
    ...qps,
    '--secret-file <file>': 'file for the webhook secret (mode 0600); required',
    ...unchecked,
    ...json,
  },
  'monitors update': { ...qps, ...unchecked },
  'monitors get': qps,
  'monitors list': {
    ...filter,
    ...qps,
    ...unchecked,
    '--limit <n>': value(wholeNumber(100_000), 'maximum number of monitors (default: 100)'),
    ...jsonArray,
  },
  'monitors trigger': qps,
  'monitors runs': {
    ...qps,
    '--limit <n>': value(wholeNumber(100_000), 'maximum number of runs (default: 20)'),
    ...jsonArray,
  },
  'monitors pause': scheduledBatch,
  'monitors unpause': {
    ...scheduledBatch,
    '--of-schedule <name>': 'what this schedule of `monitors pause` paused and nobody has changed since',
  },
  'monitors delete': batch,
  'monitors approve': { ...qps, '--why <text>': 'reason, for the audit', ...json },
  'monitors reject': { ...qps, '--why <text>': 'reason, for the audit', ...json },
  'monitors export': {
    ...filter,
    ...qps,
    ...schedule,
    ...detach,
    ...unchecked,
    '--into <address>': 'DuckDB file, or postgres://host/database (default: out/monitors.duckdb)',
    ...json,
  },
  'schedule list': jsonArray,
  'schedule show': json,
  'schedule pause': { '--why <text>': 'reason, shown in lists' },
  'schedule backfill': {
    '--from <time>': 'start, as a UTC date (2026-11-01), an age (7d) or a time (2026-11-01T08:00+01:00)',
    '--until <time>': 'end, in the format of --from; dates are inclusive',
  },
  limits: { ...rate, '--unblock': 'lift the block after a 429, and show the limits', ...json },
  'limits set': {
    '--per-day <dollars>': 'cap for each UTC day, such as 20; none removes it',
    '--per-month <dollars>': 'cap for each UTC month, such as 500; none removes it',
  },
  usage: {
    '--by <group>': { ...oneOf(['job', 'operation', 'day'], 'grouping'), default: 'job' },
    ...days,
    '--reconcile': "compare the journal with the service's bill by day; needs SEARCHFLOW_SERVICE_KEY",
    ...json,
  },
  'alerts test': json,
  init: json,
  doctor: json,
  worker: rate,
  dev: rate,
  start: {
    '--live': 'use the real service instead of the sandbox, after a confirmation',
    ...yes,
    '--qps <n>': 'requests per second (default: 5)',
    '--dry-run': 'the plan only; nothing is bought',
    ...jsonSummary,
  },
  sandbox: {
    '--port <n>': 'port on 127.0.0.1 (default: a free port)',
    '--qps <n>': 'strict rate limit, in requests per second (default: none)',
    '--latency-ms <n>': 'time of an answer in milliseconds, or a range such as 100-400',
    '--error-rate <share>': 'share of URLs that fail, 0 to 1 (default: 0.03)',
    '--retry-after <form>': oneOf(
      ['none', 'seconds', 'http-date'],
      'form of the Retry-After header in 429 answers (default: none)',
    ),
    '--retry-after-seconds <n>': 'seconds in the Retry-After header (default: 1)',
    '--fault <fault>': many("fault as JSON or words: 'every=20 kind=status status=429 retryAfter=3'; repeatable"),
    '--ledger <file>': 'ledger file of the sandbox, kept across restarts',
    '--key <key>': many('accepted API key; repeatable (default: any)'),
    '--credits <dollars>': 'credits of the team; once they are used up, the answer is 402 (default: no limit)',
    '--seed <n>': 'seed of the made-up pages and failures (default: 1)',
    '--text-bytes <n>': 'characters of page text (default: 1000)',
    '--x402': 'on /search and /contents, answer 402 with the x402 payment challenge if the key is missing',
    '--agent-run-ms <n>': 'time of an agent run in milliseconds, or a range (default: 500-2000)',
    '--monitor-clock <n>': 'speed of monitor schedules; 3600 turns an hour into a second',
    '--events <n>': 'webset events in the history (default: 1000)',
    '--events-per-second <n>': 'rate of new events (default: 0)',
    '--set <name=json>': many('any other setting, such as agentRuns.failureRate=0.1; repeatable'),
  },
  'sandbox trigger': {
    '--url <url>': 'URL of the sandbox (default: SEARCHFLOW_BASE_URL)',
    '--count <n>': 'number of events (default: 1)',
  },
};
