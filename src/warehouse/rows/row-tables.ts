import type { Dialect } from '../dialect.js';
import { column, commentsOn, createTable, type Relation, type RelationColumn, required } from '../shared/relation.js';

const job = required('text', 'job', 'Id of the job.');
const origin = required('text', 'origin', 'Base URL of the service, or sandbox: its data is never real.');
const loadedAt = required('time', 'loaded_at', 'Time of the load, UTC.');

export const jobs: Relation = {
  kind: 'TABLE',
  name: 'searchflow_jobs',
  is: 'A row for each job: its input, its options and its view.',
  row: 'one job',
  key: ['job'],
  columns: [
    job,
    required('text', 'name', 'Name of the job.'),
    required('text', 'view_name', 'View with the rows of the job.'),
    origin,
    required('text', 'operation', 'Operation that is bought for each row.'),
    required('text', 'input', 'Absolute path or URL of the input; - for stdin.'),
    required('texts', 'columns', 'Columns of the input; row_store.input has the cells in this order.'),
    required('text', 'generation', 'Hash of the rows and options of the latest run.'),
    column('parsed', 'options', 'Options of the latest run, as they are sent to the service.'),
    column(
      'json',
      'request',
      'Template of the requests: the template, its options, and the number of rows that share a run; NULL if the request is only the URL.',
    ),
    required('long', 'rows', 'Number of rows of the input.'),
    required('small', 'slices', 'Number of slices of the input.'),
    required('time', 'created_at', 'Time of the first run of the job in this warehouse, UTC.'),
    required('time', 'opened_at', 'Time of the first run of the latest generation in this warehouse, UTC.'),
    column(
      'texts',
      'types',
      'Types of the columns of the input, in the words of DuckDB; NULL: the input is a CSV, whose cells are texts.',
    ),
  ],
};

/** Columns of a row before its answer, and the rest. */
const rowColumns: readonly RelationColumn[] = [
  job,
  origin,
  required('text', 'generation', 'Generation of the job that loaded the row.'),
  required('small', 'slice', 'Slice of the input; its rows were loaded in one transaction.'),
  column('long', 'row_number', 'Number of the row in the input, from 1; NULL after it has vanished from the input.'),
  required(
    'text',
    'row_hash',
    'Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.',
  ),
  column('text', 'unit_key', 'Hash of the unit: origin, operation, options and URL. NULL for a bad row.'),
  column('text', 'url', 'URL of the request.'),
  required(
    'texts',
    'input',
    'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.',
  ),
  required('text', 'status', 'success, error (the service returned an error) or invalid (never sent).'),
  column('text', 'error_tag', 'Error tag of the service, or of searchflow for a row that was never sent.'),
  column(
    'text',
    'error_message',
    'Error message of the service. For a row that was never sent: the line, column and problem. For a success: fields with an unexpected type, which are NULL in their columns.',
  ),
  column('small', 'http_status', 'HTTP status of the page, if the service returned one.'),
  column('text', 'source', 'Source of the content at the service: cached, crawled.'),
  column('text', 'title', 'Title of the page.'),
  column('text', 'author', 'Author of the page.'),
  column('text', 'published_date', 'Date of the page, as the service returned it.'),
  column('json', 'response', 'The whole result as JSON, unchanged, including fields without a column.'),
  column('text', 'request_id', 'Id of the request at the service.'),
  required(
    'long',
    'cost_micros',
    'Cost in millionths of a dollar. Equal URLs are bought once: one row has the cost, the others have 0, so that it can be summed.',
  ),
  column('time', 'fetched_at', 'Time of the answer, UTC.'),
  loadedAt,
  column(
    'time',
    'outdated_at',
    'Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.',
  ),
  column('time', 'vanished_at', 'Time since which the row is missing from the input, UTC.'),
];

const ledger: Relation = {
  kind: 'TABLE',
  name: 'load_ledger',
  is: 'Slices that are loaded, written in the same transaction as their rows: the record of what is loaded.',
  row: 'one slice of one generation of a job',
  key: ['job', 'generation', 'slice'],
  needsKey: true,
  columns: [
    job,
    required('text', 'generation', 'Generation of the slice.'),
    required('small', 'slice', 'Number of the slice, from 0.'),
    required('long', 'rows', 'Number of its rows.'),
    required('text', 'attempt', 'Attempt that loaded it; unchanged: no row had to be loaded.'),
    loadedAt,
  ],
};

export const outcomes: Relation = {
  kind: 'TABLE',
  name: 'unknown_outcomes',
  is: 'Purchases without an answer: they may have been charged.',
  row: 'one request of a job without an answer',
  key: ['job', 'id'],
  needsKey: true,
  columns: [
    job,
    required('text', 'id', 'Hash that identifies the purchase.'),
    required('text', 'book', 'Segment of the journal that has the purchase.'),
    required('text', 'operation', 'Operation of the request.'),
    required('texts', 'unit_keys', 'Units of the request; see row_store.unit_key.'),
    required('time', 'intended_at', 'Time of the request, UTC.'),
    required('text', 'reason', 'Reason why there is no answer.'),
    required('long', 'estimate_micros', 'Estimate of the cost, in millionths of a dollar.'),
    required('time', 'recorded_at', 'Time when the purchase was recorded here, UTC.'),
  ],
};

export const runs: Relation = {
  kind: 'TABLE',
  name: 'searchflow_runs',
  is: 'A row for each run of a job that ended as done or stopped: its rows, purchases and missing rows. Failed and cancelled runs have no row.',
  row: 'one run of one job',
  key: ['job', 'run'],
  needsKey: true,
  columns: [
    job,
    required('text', 'run', 'Id of the run of its Temporal workflow.'),
    required('boolean', 'scheduled', 'Whether a schedule started it.'),
    required('text', 'generation', 'Hash of its rows and options.'),
    required(
      'time',
      'started_at',
      'Start of the run, UTC. Rows that it missed in the input have a vanished_at between this and ended_at.',
    ),
    required('time', 'ended_at', 'End of the run, UTC.'),
    required('text', 'phase', 'done, or stopped: the run ended early.'),
    column(
      'text',
      'reason',
      'Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.',
    ),
    column('text', 'message', 'The reason as a sentence.'),
    required('long', 'rows', 'Number of rows of the input.'),
    required('long', 'success', 'Rows with an answer.'),
    required('long', 'error', 'Rows for which the service returned an error.'),
    required('long', 'invalid', 'Bad rows, which were never sent.'),
    required('long', 'missing', 'Rows that are not loaded yet; the next run continues with them.'),
    required('long', 'vanished', 'Rows of earlier inputs that are missing from this input.'),
    required('long', 'requests', 'Number of paid requests of the run.'),
    required('long', 'cost_micros', 'Cost of these requests, in millionths of a dollar.'),
    column('json', 'columns', 'Columns of the input and of the answers with their types, as a JSON list.'),
    column(
      'json',
      'schema_changes',
      'Columns that were added, removed or changed their type since the run before, as a JSON list; NULL: none.',
    ),
    column(
      'json',
      'published',
      'Publish at the end of the run: target, id, rows, and the error if there is one; NULL: no publish.',
    ),
    column(
      'json',
      'warnings',
      'Warnings and notices of the service in the answers of the run, each code and path once, as a JSON list; NULL: none.',
    ),
  ],
};

const misfits: Relation = {
  kind: 'TABLE',
  name: 'misfits',
  is: 'Values of answers, and cells of the input, that do not fit the type of their column, so that the view of the job has NULL there. Answers and cells are kept whole.',
  row: 'one value in one row of one job',
  key: ['job', 'row_number', 'column_name'],
  columns: [
    job,
    required('long', 'row_number', 'Number of the row in the input, from 1.'),
    required('text', 'column_name', 'Column of the view of the job.'),
    required('text', 'value', 'First 200 characters of the value, as text.'),
    required(
      'text',
      'expected',
      'Type of the column: number, integer, boolean, date, time, array or object; of a column of the input, its type in DuckDB.',
    ),
    required('text', 'generation', 'Generation of the job that loaded the row.'),
    loadedAt,
  ],
};

const marks: Relation = {
  kind: 'TABLE',
  name: 'row_marks',
  is: 'Failed rows that are bought once more at the end of a run of their job, or were discarded.',
  row: 'one unit, or one bad row, of one job',
  key: ['job', 'subject'],
  needsKey: true,
  columns: [
    job,
    required('text', 'subject', 'row_store.unit_key; of a bad row, row_store.row_hash.'),
    required(
      'text',
      'mark',
      'retry: bought once more. discarded: needs no further retry, and does not count as failed.',
    ),
    column('time', 'before', 'For retry: failures from before this time are bought once more, UTC.'),
    required('time', 'marked_at', 'Time of the mark, UTC.'),
  ],
};

const id: RelationColumn = { name: 'id', type: 'long', is: 'Number of the row in this table.', numbered: true };

/** Columns of a database whose texts cannot hold every character; see docs/decisions/0009. */
const exact: readonly RelationColumn[] = [
  column(
    'json',
    'row_exact',
    'Only if cells contain NUL, which text cannot hold: the staged row, unchanged, with its cells under i. In input the six characters \\u0000 replace each NUL.',
  ),
  column(
    'json',
    'answer_exact',
    'Only if the answer contains NUL or half a surrogate pair, which text cannot hold: the landed answer, unchanged, under result. In response and the columns made from it six characters such as \\u0000 replace each of them.',
  ),
];

/** The tables for rows. `keepsExact`: see `Dialect`. */
export function rowTables(keepsExact: boolean): readonly Relation[] {
  const rows: Relation = {
    kind: 'TABLE',
    name: 'row_store',
    is: 'A row for each row of each job, as it was loaded. Query it through enriched_rows or the view of a job.',
    row: 'one row of one job',
    ...(keepsExact ? { key: ['id'], columns: [id, ...rowColumns, ...exact] } : { columns: rowColumns }),
  };
  return [jobs, rows, ledger, outcomes, runs, misfits, marks];
}

/** The views of rows, with the descriptions of their columns; see `makeRowTables`. */
export function rowViews(keepsExact: boolean): readonly Relation[] {
  return [
    {
      kind: 'VIEW',
      name: 'enriched_rows',
      is: 'The rows of all jobs with the fields of their responses. Rows that are in the input now have vanished_at NULL.',
      row: 'one row of one job',
      columns: [
        ...(keepsExact ? [id] : []),
        ...rowColumns,
        column('text', 'text', 'Text of the page.'),
        column('json', 'highlights', 'Snippets, as a JSON list.'),
        column('text', 'summary', 'Summary of the page.'),
        column('other', 'cost_dollars', 'cost_micros in dollars, exact.'),
        ...(keepsExact ? exact : []),
      ],
    },
    {
      kind: 'VIEW',
      name: 'spend',
      is: 'Cost of the rows in this warehouse, by day, job and operation. An answer of several rows or jobs counts once, for the first. The bill is searchflow usage: a refreshed row counts only with its latest answer.',
      row: 'one operation of one job on one day',
      columns: [
        column('other', 'day', 'Day of the answers, UTC.'),
        column('text', 'job', 'Id of the job.'),
        column('text', 'operation', 'Operation of the purchases.'),
        column('long', 'requests', 'Number of requests with an answer.'),
        column('long', 'rows', 'Number of rows with these answers.'),
        column('other', 'dollars', 'Cost of the answers.'),
        column('long', 'unknown_outcomes', 'Number of purchases without an answer.'),
        column('other', 'unknown_dollars', 'Estimated cost of these purchases.'),
      ],
    },
  ];
}

/** Statements that create the tables and views for rows in an empty database, with all comments. */
export function makeRowTables(dialect: Dialect): string {
  const { prefix, keepsExact } = dialect;
  const tables = rowTables(keepsExact);
  return [
    ...tables.map((table) => createTable(table, dialect)),
    `${enrichedRows(dialect)};`,
    `${spendView(dialect)};`,
    commentsOn([...tables, ...rowViews(keepsExact)], prefix),
  ].join('\n');
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
  return `CREATE VIEW ${prefix}enriched_rows AS\nSELECT ${all.join(', ')}\nFROM ${prefix}row_store\nWHERE vanished_at IS NULL OR outdated_at IS NULL OR length(row_hash) = 16`;
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
  return `CREATE VIEW ${prefix}spend AS
SELECT day, job, operation, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(rows) AS BIGINT) AS rows,
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
