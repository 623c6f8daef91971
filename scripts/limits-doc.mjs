// The sizes, times and numbers that searchflow keeps within, read from the constants of the code.
const number = (value) => value.toLocaleString('en-US');
const bytes = (value) => (value >= 1_048_576 ? `${value / 1_048_576} MiB` : `${value / 1024} KiB`);
const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1000],
];

function time(ms) {
  const [unit, length] = units.find(([, size]) => ms >= 2 * size && ms % size === 0) ?? ['seconds', 1000];
  return `${number(ms / length)} ${unit}`;
}

/** Each limit: its part, what it bounds, the module and the constant, its form, and what follows beyond it. */
const limits = `
Rows | a row of any input; the request of a row | rows/header#MAX_RECORD | bytes | the input is refused
Rows | a file of CSV or JSON Lines at an address | sources/remote-reader#MOST_COPIED | bytes | the input is refused: download the file, or use Parquet
Rows | memory of the process that reads an input | sources/reader-messages#MOST_MEMORY | bytes | the input is refused
Rows | columns of a CSV or of JSON Lines | rows/header#MAX_CELLS | number | the input is refused
Rows | rows of a Parquet file of an export, fewer if they are large | warehouse/export/job-rows#ROWS_AT_ONCE | number | the next file begins
Answers | levels of a JSON answer | api/checks/nesting#MAX_NESTING | number | the deepest part is kept as a text
Answers | answer of an activity in a history | activities/operations/buy#MAX_INLINE_BYTES | bytes | the history has a reference; the journal has the answer
Answers | answers in a row that do not come from the service | activities/call/circuit-breaker#MAX_UNRECOGNIZED | number | the job pauses (\`service\`)
Answers | time for which the journal keeps loaded bodies (default) | worker/config/settings#KEEP_LANDING_MS | time | the warehouse has the answer; the record of the purchase stays
Requests | paid requests in flight of a worker | worker/config/settings#MAX_CONCURRENCY | number | a higher setting is refused
Requests | block by \`Retry-After\` | core/limiter/rate#MAX_BLOCK_MS | time | the job pauses (\`rate\`)
Requests | requests in flight before the first answers under a cap | core/purchase/spend#FIRST_REQUESTS | number | others wait until the price is known
Requests | time to land when a worker ends | activities/base/cancellation#LAND_MS | time | an unknown outcome
Requests | an amount of money | core/text/money#MOST_DOLLARS | dollars | refused
Runs | longest \`--max-run-time\` | core/choices#MAX_RUN_SECONDS | seconds | refused
Events | windows that are read at once | core/choices#MOST_PARALLEL | number | refused
Events | time before the watermark that a sync reads again | core/events/walk-window#OVERLAP_MS | time | a sweep or a verification finds later events
Events | time that the daily sweep reads again | core/events/walk-window#SWEEP_MS | time | a verification finds later events
Monitors | monitors of one batch request | core/choices#MAX_BATCH_LIMIT | number | refused
Monitors | time for an approval | core/monitors/monitor-batch#APPROVAL_WITHIN_MS | time | the batch ends without a change
Workers | silence after which a worker counts as dead (default) | store/postgres/journal/process-heartbeat#DEAD_AFTER_MS | time | its claims expire
Alerts | time for which an alert is tried | worker/send-alert#ALERT_FOR_MS | time | the workflow of the alert fails
`;
const forms = { number, bytes, time, seconds: (value) => time(value * 1000), dollars: (value) => `$${number(value)}` };

/** Returns docs/reference/limits.md. `load`: imports a module of `src` by its path without an ending. */
export async function limitsDoc(load) {
  const row = async (line) => {
    const [part, what, constant, form, beyond] = line.split(' | ');
    const [path, name] = constant.split('#');
    const { [name]: value } = await load(path);
    if (value === undefined) throw new Error(`src/${path}.ts has no ${name}.`);
    return `| ${part} | ${what} | ${forms[form](value)} | ${beyond} |`;
  };
  const rows = await Promise.all(limits.trim().split('\n').map(row));
  const lines = [
    '# Limits',
    '',
    '`npm run generate` makes this page from the code; `npm test` fails if the two differ.',
    '',
    'These are the sizes, times and numbers that searchflow keeps within. Limits of requests, such as the number of results, are those of the',
    'service: see [Operations](operations.md#what-is-checked-before-sending). [Limits](../concepts/limits.md) of the rate and',
    '[caps](../tasks/budget.md) are settings.',
    '',
    '| part | limit | value | beyond it |',
    '|---|---|---|---|',
    ...rows,
    '',
  ];
  return lines.join('\n');
}
