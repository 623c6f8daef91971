import type { Dialect } from '../dialect.js';
import { originColumn, type Relation, type RelationColumn, tableColumns, type View } from '../shared/relation.js';

const job = 'job text! Id of the job.';
const loadedAt = 'loaded_at time! Time of the load, UTC.';

export const jobs: Relation = {
  name: 'searchflow_jobs',
  is: 'A row for each job: its input, its options and its view.',
  row: 'one job',
  key: ['job'],
  columns: tableColumns(`
    ${job}
    name text! Name of the job.
    view_name text! View with the rows of the job.
    ${originColumn}
    operation text! Operation that is bought for each row.
    input text! Absolute path or URL of the input; - for stdin.
    columns texts! Columns of the input; row_store.input has the cells in this order.
    generation text! Hash of the rows and options of the latest run.
    options parsed Options of the latest run, as they are sent to the service.
    request json Template of the requests: the template, its options, and the number of rows that share a run; NULL if the request is only the URL.
    rows long! Number of rows of the input.
    slices small! Number of slices of the input.
    created_at time! Time of the first run of the job in this warehouse, UTC.
    opened_at time! Time of the first run of the latest generation in this warehouse, UTC.
    types texts Types of the columns of the input, in the words of DuckDB; NULL: the input is a CSV, whose cells are texts.
  `),
};

const keyColumns = tableColumns(`
  ${job}
  ${originColumn}
  generation text! Generation of the job that loaded the row.
  slice small! Slice of the input; its rows were loaded in one transaction.
  row_number long Number of the row in the input, from 1; NULL after it has vanished from the input.
  row_hash text! Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.
  unit_key text Hash of the unit: origin, operation, options and URL. NULL for a bad row.
  url text URL of the request.
  input texts! Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.
  status text! success, error (the service returned an error) or invalid (never sent).
  error_tag text Error tag of the service, or of searchflow for a row that was never sent.
  error_message text Error message of the service. For a row that was never sent: the line, column and problem. For a success: fields with an unexpected type, which are NULL in their columns.
`);

/** Texts of an answer. Each column has the field of its name in camel case. */
const factColumns = tableColumns(`
  title text Title of the page.
  author text Author of the page.
  published_date text Date of the page, as the service returned it.
`);

/** Columns with values of the answer. A forgotten row has none of them. */
export const answerColumns = [
  ...tableColumns(`
  http_status small HTTP status of the page, if the service returned one.
  source text Source of the content at the service: cached, crawled.
`),
  ...factColumns,
  ...tableColumns('response json The whole result as JSON, unchanged, including fields without a column.'),
];

export const facts = factColumns.map(({ name }) => ({
  name,
  field: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
}));

const loadColumns = tableColumns(`
  request_id text Id of the request at the service.
  cost_micros long! Cost in millionths of a dollar. Equal URLs are bought once: one row has the cost, the others have 0, so that it can be summed.
  fetched_at time Time of the answer, UTC.
  ${loadedAt}
  outdated_at time Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.
  vanished_at time Time since which the row is missing from the input, UTC.
`);

export const rowColumns = [...keyColumns, ...answerColumns, ...loadColumns];

/** Fields of a unit record before its result. */
export const unitFields = Object.entries({
  ...({ key: 'text', request_id: 'text', fetched_at: 'time', cost_micros: 'long', status: 'text' } as const),
  ...({ error_tag: 'text', http_status: 'small', source: 'text', misread: 'text' } as const),
});

const ledger: Relation = {
  name: 'load_ledger',
  is: 'Slices that are loaded, written in the same transaction as their rows: the record of what is loaded.',
  row: 'one slice of one generation of a job',
  key: ['job', 'generation', 'slice'],
  needsKey: true,
  columns: tableColumns(`
    ${job}
    generation text! Generation of the slice.
    slice small! Number of the slice, from 0.
    rows long! Number of its rows.
    attempt text! Attempt that loaded it; unchanged: no row had to be loaded.
    ${loadedAt}
  `),
};

export const outcomes: Relation = {
  name: 'unknown_outcomes',
  is: 'Purchases without an answer: they may have been charged.',
  row: 'one request of a job without an answer',
  key: ['job', 'id'],
  needsKey: true,
  columns: tableColumns(`
    ${job}
    id text! Hash that identifies the purchase.
    book text! Segment of the journal that has the purchase.
    operation text! Operation of the request.
    unit_keys texts! Units of the request; see row_store.unit_key.
    intended_at time! Time of the request, UTC.
    reason text! Reason why there is no answer.
    estimate_micros long! Estimate of the cost, in millionths of a dollar.
    recorded_at time! Time when the purchase was recorded here, UTC.
  `),
};

export const runs: Relation = {
  name: 'searchflow_runs',
  is: 'A row for each run of a job that ended as done or stopped: its rows, purchases and missing rows. Failed and cancelled runs have no row.',
  row: 'one run of one job',
  key: ['job', 'run'],
  needsKey: true,
  columns: tableColumns(`
    ${job}
    run text! Id of the run of its Temporal workflow.
    scheduled boolean! Whether a schedule started it.
    generation text! Hash of its rows and options.
    started_at time! Start of the run, UTC. Rows that it missed in the input have a vanished_at between this and ended_at.
    ended_at time! End of the run, UTC.
    phase text! done, or stopped: the run ended early.
    reason text Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.
    message text The reason as a sentence.
    rows long! Number of rows of the input.
    success long! Rows with an answer.
    error long! Rows for which the service returned an error.
    invalid long! Bad rows, which were never sent.
    missing long! Rows that are not loaded yet; the next run continues with them.
    vanished long! Rows of earlier inputs that are missing from this input.
    requests long! Number of paid requests of the run.
    cost_micros long! Cost of these requests, in millionths of a dollar.
    columns json Columns of the input and of the answers with their types, as a JSON list.
    schema_changes json Columns that were added, removed or changed their type since the run before, as a JSON list; NULL: none.
    published json Publish at the end of the run: target, id, rows, and the error if there is one; NULL: no publish.
    warnings json Warnings and notices of the service in the answers of the run, each code and path once, as a JSON list; NULL: none.
  `),
};

const misfits: Relation = {
  name: 'misfits',
  is: 'Values of answers, and cells of the input, that do not fit the type of their column, so that the view of the job has NULL there. Answers and cells are kept whole.',
  row: 'one value in one row of one job',
  key: ['job', 'row_number', 'column_name'],
  columns: tableColumns(`
    ${job}
    row_number long! Number of the row in the input, from 1.
    column_name text! Column of the view of the job.
    value text! First 200 characters of the value, as text.
    expected text! Type of the column: number, integer, boolean, date, time, array or object; of a column of the input, its type in DuckDB.
    generation text! Generation of the job that loaded the row.
    ${loadedAt}
  `),
};

const marks: Relation = {
  name: 'row_marks',
  is: 'Failed rows that are bought once more at the end of a run of their job, or were discarded.',
  row: 'one unit, or one bad row, of one job',
  key: ['job', 'subject'],
  needsKey: true,
  columns: tableColumns(`
    ${job}
    subject text! row_store.unit_key; of a bad row, row_store.row_hash.
    mark text! retry: bought once more. discarded: needs no further retry, and does not count as failed.
    before time For retry: failures from before this time are bought once more, UTC.
    marked_at time! Time of the mark, UTC.
  `),
};

const id: RelationColumn = { name: 'id', type: 'long', is: 'Number of the row in this table.', numbered: true };

/** Columns of a database whose texts cannot hold every character; see docs/decisions/0009. */
export const exactColumns = tableColumns(`
  row_exact json Only if cells contain NUL, which text cannot hold: the staged row, unchanged, with its cells under i. In input the six characters \\u0000 replace each NUL.
  answer_exact json Only if the answer contains NUL or half a surrogate pair, which text cannot hold: the landed answer, unchanged, under result. In response and the columns made from it six characters such as \\u0000 replace each of them.
`);

/** The tables for rows. `keepsExact`: see `Dialect`. */
export function rowTables(keepsExact: boolean): readonly Relation[] {
  const rows: Relation = {
    name: 'row_store',
    is: 'A row for each row of each job, as it was loaded. Query it through enriched_rows or the view of a job.',
    row: 'one row of one job',
    ...(keepsExact ? { key: ['id'], columns: [id, ...rowColumns, ...exactColumns] } : { columns: rowColumns }),
  };
  return [jobs, rows, ledger, outcomes, runs, misfits, marks];
}

/** The tables whose rights are checked. A user that only loads rows needs no rights on the tables of events and monitors. */
export const rowTableNames = rowTables(true).map(({ name }) => name);

/** Columns of `enriched_rows` that `row_store` lacks. */
const madeColumns = tableColumns(`
  text text Text of the page.
  highlights json Snippets, as a JSON list.
  summary text Summary of the page.
  cost_dollars other cost_micros in dollars, exact.
`);

/** The type of a column of `enriched_rows`. */
export const storedType = (column: string): RelationColumn['type'] | undefined =>
  [...rowColumns, ...madeColumns].find(({ name }) => name === column)?.type;

export function rowViews(dialect: Dialect): readonly View[] {
  const { keepsExact } = dialect;
  return [
    {
      name: 'enriched_rows',
      is: 'The rows of all jobs with the fields of their responses. Rows that are in the input now have vanished_at NULL.',
      row: 'one row of one job',
      columns: [...(keepsExact ? [id] : []), ...rowColumns, ...madeColumns, ...(keepsExact ? exactColumns : [])],
      query: enrichedRows(dialect),
    },
    {
      name: 'spend',
      is: 'Cost of the rows in this warehouse, by day, job and operation. An answer of several rows or jobs counts once, for the first. The bill is searchflow usage: a refreshed row counts only with its latest answer.',
      row: 'one operation of one job on one day',
      columns: tableColumns(`
        day other Day of the answers, UTC.
        job text Id of the job.
        operation text Operation of the purchases.
        requests long Number of requests with an answer.
        rows long Number of rows with these answers.
        dollars other Cost of the answers.
        unknown_outcomes long Number of purchases without an answer.
        unknown_dollars other Estimated cost of these purchases.
      `),
      query: spendView(dialect),
    },
  ];
}

/** The view `enriched_rows`: all columns of the rows, and fields of their responses after the columns for facts. */
function enrichedRows({ prefix, keepsExact, sameText: text, isText }: Dialect): string {
  // A field is read only if it is a text; see `ValueType`.
  const onlyText = (name: string) =>
    `CASE WHEN error_message IS NULL OR ${isText('response', [name])} THEN ${text('response', [name])} END AS ${name}`;
  const before: Readonly<Record<string, readonly string[]>> = {
    response: [onlyText('text'), `response -> 'highlights' AS highlights`, onlyText('summary')],
    fetched_at: [`${dollarsOf('cost_micros')} AS cost_dollars`],
  };
  const [, rows] = rowTables(keepsExact) as readonly [Relation, Relation];
  const all = rows.columns.flatMap(({ name }) => [...(before[name] ?? []), name]);
  return `SELECT ${all.join(', ')}\nFROM ${prefix}row_store\nWHERE vanished_at IS NULL OR outdated_at IS NULL OR length(row_hash) = 16`;
}

/**
 * Converts micro-dollars to exact dollars, in SQL that both databases accept. A division would give a double in one of the
 * databases.
 */
export function dollarsOf(micros: string): string {
  return `CAST(CAST(${micros} AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6))`;
}

/**
 * The view `spend`, in SQL that both databases accept. Several rows, perhaps of several jobs, may share an answer; the cost of
 * the answer counts for the row that was loaded first.
 */
function spendView({ day, prefix }: Dialect): string {
  return `SELECT day, job, operation, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(rows) AS BIGINT) AS rows,
  ${dollarsOf('sum(micros)')} AS dollars, CAST(sum(unknown) AS BIGINT) AS unknown_outcomes,
  ${dollarsOf('sum(unknown_micros)')} AS unknown_dollars
FROM (
  SELECT a.day, a.job, j.operation, count(DISTINCT CASE WHEN a.turn = 1 THEN a.request_id END) AS requests,
    count(*) AS rows, sum(CASE WHEN a.turn = 1 THEN a.micros ELSE 0 END) AS micros, 0 AS unknown, 0 AS unknown_micros
  FROM (
    SELECT job, request_id, ${day('fetched_at')} AS day,
      max(cost_micros) OVER (PARTITION BY unit_key, fetched_at) AS micros,
      row_number() OVER (PARTITION BY unit_key, fetched_at ORDER BY loaded_at, job) AS turn
    FROM ${prefix}row_store WHERE unit_key IS NOT NULL) a
  JOIN ${prefix}searchflow_jobs j ON j.job = a.job
  GROUP BY a.day, a.job, j.operation
  UNION ALL
  SELECT ${day('intended_at')}, job, operation, 0, 0, 0, count(*), sum(estimate_micros)
  FROM ${prefix}unknown_outcomes GROUP BY 1, 2, 3) s
GROUP BY day, job, operation`;
}
