/** What to do about each error, in one sentence, by groups of `docs/errors.md`. */
const groups = {
  'Command line and settings': {
    'unknown-command': 'Use the name that the message proposes, or look at `searchflow --help`.',
    'unknown-option': 'Look at the options of the command with `--help`.',
    'missing-argument': 'Add what the message names; the help of the command has examples.',
    'too-many-arguments':
      'Put a value with spaces in quotes; put a pattern in quotes, too: searchflow reads all of its files.',
    'invalid-argument':
      'Correct the value that the message names; the help of the command has the form and an example of each value.',
    'option-unusable': 'Leave the option out, or use the one that the message names.',
    'confirmation-needed':
      'Look at the price with `--dry-run`; then confirm with `--yes`, or set a cap with `--max-cost`.',
    'removal-unconfirmed': 'Look at the plan with `--dry-run`; then confirm with `--yes`.',
    'setting-invalid': 'Correct each setting that the message names; `doctor` checks all of them and buys nothing.',
    'output-path-unusable': 'Name another path, or create the folder.',
    'request-invalid':
      'Correct the field that the message names; `docs/reference/operations.md` lists the fields of each operation.',
    'workflow-input-invalid':
      'Correct the fields that the message names; `docs/reference/workflows.md` describes the inputs.',
    'installation-incomplete':
      'Install the package that the message names, or install searchflow again on this machine.',
  },
  'Files and rows': {
    'file-missing': 'Correct the path that the message names.',
    'file-refused': 'Change the permissions or the path, or run the command as the owner.',
    'disk-full':
      'Free space; `searchflow clean` removes the state of jobs that are done, and keeps every record of a purchase.',
    'too-many-open-files': 'Raise the limit (`ulimit -n 4096`), and run the same command again.',
    'input-missing': 'Correct the path or address of the input.',
    'input-unreadable': 'Change the permissions, name a file, or pass the rows on standard input.',
    'input-empty': 'Check the step that writes the input.',
    'input-wrong-format':
      'Pass `--format csv`, `jsonl` or `parquet`, name the files of one format, or save the file in one of these formats.',
    'input-damaged': 'Copy or write the file again.',
    'input-changed':
      'Run the same command again when the file is complete; write such files under another name, and rename them when they are complete.',
    'input-too-large': 'Correct the place that the message names, or split the input.',
    'encoding-wrong': 'Name the encoding, such as `--encoding windows-1252`, or save the file as UTF-8.',
    'header-invalid': 'Correct the first line of the input.',
    'json-invalid': 'Correct the line that the message names.',
    'columns-differ': 'Correct the file, or run one job for each kind of file.',
    'url-column-unknown': 'Name the column with `--url-column`.',
    'key-column-unknown': 'Name columns of the input, or match rows by all their cells with `--no-key`.',
    'key-not-unique': 'Remove one of the rows, or name more columns with `--key`.',
    'row-template-unknown-column': 'Use a name from the list in the message.',
    'row-template-constant': 'Add a column in double braces.',
    'row-template-invalid': 'Correct the place that the message names.',
    'staged-rows-missing': "Run the job's command again; it reads the input again and buys nothing twice.",
  },
  'Sources and SQL': {
    'source-options-wrong':
      'Add or leave out the option that the message names; `docs/tasks/sources.md` has an example of each source.',
    'source-table-unknown': 'Use a name from the list in the message, or a `SELECT` with `--sql`.',
    'source-in-use': 'Close the file there, or copy it and name the copy.',
    'source-unreachable': 'Check the address and the network, and run the same command again.',
    'source-access-refused': 'Correct the credentials that the message names, or ask the owner for the right to read.',
    'source-out-of-memory': 'Select fewer columns, sort less, or filter with a `WHERE`.',
    'sql-invalid': 'Correct the SQL; put it in single quotes, or pass the text of a file: `--sql "$(cat query.sql)"`.',
    'sql-not-allowed': 'Write one `SELECT` over tables and views of the source.',
    'sql-failed': 'Correct the SQL; the message has the reason of the database.',
    'sql-too-slow':
      'Make the query faster, for example with a `WHERE`; for PostgreSQL, `?statement_timeout=3600000` (in ms) in the address allows more time.',
  },
  'Service and key': {
    'service-unreachable': 'Check the network and the address; `searchflow doctor` tests both.',
    'service-unavailable':
      'Run the same command again later; `usage` shows unknown outcomes, which may have been charged.',
    'service-unrecognized':
      'Look at a kept answer (`searchflow trace JOB --row N --answer`); check the network and `SEARCHFLOW_BASE_URL`; then resume the job.',
    'answer-unreadable':
      'Update searchflow; the answer is kept; `--reparse` reads kept answers again and buys nothing.',
    'unknown-outcome':
      'Look at the usage and at the service before you buy again; rows are bought again only with `--redrive` or `--retry-failed`.',
    'key-refused': 'Set a valid key in `SEARCHFLOW_API_KEY`; then resume the job.',
    'key-missing': 'Set the variables that the message names.',
    'credits-used-up': 'Buy credits or raise the budget at the service; then resume the job.',
    'rate-limited': 'Wait as long as the message says; then resume the job; `limits` shows who waits and why.',
    'request-refused': "Correct the request, and run the job's command again; a refused request costs nothing.",
    'requests-refused':
      "Correct the request and run the job's command again; to record such rows as failed instead, resume with `--skip-refused`.",
    'service-object-unknown': 'Check the id and `SEARCHFLOW_BASE_URL`.',
    'other-service':
      'Set or unset `SEARCHFLOW_API_KEY` and `SEARCHFLOW_BASE_URL` as the message says, or start a worker for that service.',
    'bill-unusable': 'Compare the bill at the service by hand, and update searchflow.',
    'sandbox-unreachable': 'Start the sandbox, and use the URL that it prints.',
  },
  Money: {
    'budget-reached': 'Resume the job with a higher `--max-cost`.',
    'worker-budget-reached': 'Raise the setting, restart the worker, and resume the job.',
    'team-budget-reached': 'Wait until the day or month ends (UTC), or raise the budget; then resume the job.',
    'answers-gone':
      'Restore the journal or the warehouse from a backup; to pay a second time, run the same command with `--rebuy`.',
    'too-many-failures': 'Look at the failures; correct the request, or resume to accept them.',
  },
  'Jobs and schedules': {
    'job-unknown': 'Look at the list of jobs with `searchflow jobs`.',
    'name-ambiguous': 'Use one of the ids of the message.',
    'name-taken': 'Use another name: `--job`, `--schedule-name` or `--as`.',
    'job-name-missing': 'Pass `--job NAME`, the same name each time.',
    'job-running': 'Wait until the job ends, or cancel it first.',
    'job-not-running': 'Look at its state with `searchflow status`; `resume` or its own command runs it again.',
    'job-not-done': 'Complete or discard the job, or pass `--older-than`.',
    'job-replaced': 'Watch the newer run, or run this command again after it.',
    'job-failed': 'Fix the reason, and resume the job.',
    'job-cancelled': 'Resume the job to continue.',
    'job-stopped': 'Resume the job to continue; with a worker, jobs do not end with their command.',
    'job-paused': 'Resume the job.',
    'row-unknown': 'Look at the failed rows, or at the table of the job.',
    'row-not-retryable': "Correct the row in the input, and run the job's command again.",
    'schedule-unknown': 'Look at the list of schedules with `searchflow schedule list`.',
    'schedule-timing-invalid':
      'Correct the value that the message names, such as `--every 1d` or `--cron "0 6 * * *"`.',
    'schedule-unsupported': 'Leave the option out, or use what the message names.',
  },
  Warehouse: {
    'warehouse-in-use':
      'Close the file in the process that the message names; a running job waits and continues by itself.',
    'warehouse-unusable': 'Fix what the message names; then run the same command again.',
    'warehouse-path-unusable': 'Name another file, move this one away, or change its permissions.',
    'warehouse-damaged':
      'Move the file away and run the same command again; all rows are loaded from the journal, and nothing is bought twice.',
    'warehouse-full': 'Free some space, and run the same command again.',
    'warehouse-out-of-memory': 'Look for very large rows or answers; for a publish, use `--mode replace`.',
    'warehouse-changed': 'Undo the change, or load into another file or schema.',
    'warehouse-name-taken': 'Load into another file, or into another schema with `?schema=NAME` in the address.',
    'warehouse-rows-lost':
      'Run the same command again: the rows are loaded from the journal, and nothing is bought twice.',
    'schema-of-another-version':
      'Update searchflow, or use another file or schema; see `docs/tasks/upgrade.md` for the steps.',
    'sink-unknown': 'Pass the sink in the option `sinks` of `SearchflowPlugin`, or name one that the worker has.',
    'sink-failed': 'Fix what the message of your `load` says; then start the job again: nothing is bought twice.',
    'rows-in-sink': 'Read the rows in the sink, where they were loaded.',
    'job-not-loaded': 'Run the job first, or name its warehouse.',
    'file-on-another-machine': 'Start a worker on the machine that the message names, or load into PostgreSQL.',
    'duckdb-extension-missing':
      'Put the file that the message names into the folder of `SEARCHFLOW_DUCKDB_EXTENSIONS`.',
  },
  Publish: {
    'publish-target-invalid':
      'Name a folder, a `.duckdb` file, `s3://…`, `postgres://…` or a DuckLake; `docs/tasks/publish.md` has an example of each.',
    'publish-target-taken': 'Name an empty or a new target, or move the other files away.',
    'publish-columns-differ': 'Replace the table as a whole with `--mode replace`.',
    'publish-target-damaged': 'Restore the file, or replace the table as a whole with `--mode replace`.',
    'publish-target-unreachable': 'Fix what the message names, and publish again.',
    'publish-key-invalid': 'Name columns that identify a row.',
    'target-in-use': 'Wait until it ends, and run the same command again.',
  },
  PostgreSQL: {
    'postgres-unreachable': 'Start the server, or correct its address; running jobs wait and continue by themselves.',
    'postgres-login-refused': 'Correct user and password: in the address, `PGUSER` and `PGPASSWORD`, or `.pgpass`.',
    'postgres-rights-missing': 'Ask the owner of the database to grant the rights that the message names.',
    'postgres-refused':
      'Correct `sslmode` and the files in the address, or the mode of the pooler; `docs/reference/configuration.md` has the addresses.',
    'postgres-address-invalid':
      'Write the address as `postgres://HOST:5432/DATABASE`, with user and password in `PGUSER` and `PGPASSWORD`, or in `.pgpass`.',
    'postgres-unsuitable': 'Use a database of PostgreSQL 14 or newer with UTF8 and read committed.',
  },
  'Temporal and workers': {
    'temporal-unreachable': 'Check `TEMPORAL_ADDRESS` and the credentials; workflows continue when the server is back.',
    'temporal-namespace-missing': 'Correct `TEMPORAL_NAMESPACE`, or create the namespace.',
    'temporal-not-installed': 'Install the `temporal` program, or use a server with `TEMPORAL_ADDRESS`.',
    'temporal-server-failed': 'Do what the message says; the log of the server is in the state folder.',
    'worker-missing': 'Start `searchflow worker`, or leave `--detach` out.',
    'task-queue-in-use':
      'Let both share a PostgreSQL store (`SEARCHFLOW_STORE`), use another task queue (`SEARCHFLOW_TASK_QUEUE`), or end one.',
    'data-converter-unusable': 'Set `SEARCHFLOW_DATA_CONVERTER` to the module that the workers use.',
    'encryption-key-unusable': 'Restore the file from a backup, or set its mode to 600.',
  },
  'State folder': {
    'state-folder-in-use':
      'End the other worker, use another folder (`SEARCHFLOW_STATE_DIR`), or share a PostgreSQL store.',
    'state-folder-unusable': 'Change its owner or permissions, or use another folder (`SEARCHFLOW_STATE_DIR`).',
    'state-damaged':
      'Restore the file from a backup, or do what the message says; never delete the journal: it is the only record of what has been paid for.',
    'lock-busy': 'Wait for the process that the message names, or end it; then run the same command again.',
    'port-in-use': 'End the other process, or choose another port.',
    'secret-file-unusable': 'Name a file of your own with mode 600.',
  },
  'Events, monitors, alerts and webhooks': {
    'pagination-broken': 'Run the same command again; what was read before is loaded.',
    'events-malformed': 'Check `SEARCHFLOW_BASE_URL`, and update searchflow.',
    'monitor-batch-stopped':
      'Look at the audit of the batch and at the monitors; then run the command again for the rest.',
    'monitor-secret-lost': 'Fix the file, delete the monitor, and create it again.',
    'decision-refused': 'Look at the state of the batch with `searchflow status`.',
    'alert-receiver-missing':
      'Set `SEARCHFLOW_ALERT_URL` or `SEARCHFLOW_ALERT_COMMAND`; `docs/tasks/alerts.md` describes both.',
    'webhook-signature-wrong':
      'Pass the unparsed body and the secret that `createMonitor` returned; answer such a delivery with 401.',
    'webhook-too-old': 'Check the clock; answer such a delivery with 400.',
    'webhook-malformed': 'Answer with 400, and update searchflow.',
  },
  'Unexpected errors': {
    interrupted: 'Run the same command again.',
    unexpected:
      'Run the same command again; if the error comes again, report it with the version, the message and the stack of `SEARCHFLOW_DEBUG=1`.',
  },
} as const;

/**
 * The code of an error: one for each thing that a person has to do. Scripts rely on these codes: a code is never renamed, and its meaning
 * never changes.
 */
export type ErrorCode = { [G in keyof typeof groups]: keyof (typeof groups)[G] }[keyof typeof groups];

export const errorGroups: Readonly<Record<string, Readonly<Record<string, string>>>> = groups;

export const errorFixes = Object.assign({}, ...Object.values(groups)) as Readonly<Record<ErrorCode, string>>;
