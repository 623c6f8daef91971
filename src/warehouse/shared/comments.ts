/** Purpose of a table or view of a warehouse, and of its columns. */
interface Meaning {
  readonly kind: 'TABLE' | 'VIEW';
  readonly is: string;
  readonly columns: Readonly<Record<string, string>>;
}

const row: Readonly<Record<string, string>> = {
  job: 'Id of the job.',
  origin: 'Base URL of the service, or sandbox: its data is never real.',
  generation: 'Generation of the job that loaded the row.',
  slice: 'Slice of the input; its rows were loaded in one transaction.',
  row_number: 'Number of the row in the input, from 1; NULL after it has vanished from the input.',
  row_hash: 'Start of the SHA-256 of the cells.',
  unit_key: 'Hash of the unit: origin, operation, options and URL. NULL for a bad row.',
  url: 'URL of the request.',
  input: 'Cells of the row, unchanged; their names are in searchflow_jobs.columns.',
  status: 'success, error (the service returned an error) or invalid (never sent).',
  error_tag: 'Error tag of the service, or of searchflow for a row that was never sent.',
  error_message:
    'Error message of the service. For a row that was never sent: the line, column and problem. For a success: fields with an unexpected type, which are NULL in their columns.',
  http_status: 'HTTP status of the page, if the service returned one.',
  source: 'Source of the content at the service: cached, crawled.',
  title: 'Title of the page.',
  author: 'Author of the page.',
  published_date: 'Date of the page, as the service returned it.',
  response: 'The whole result as JSON, unchanged, including fields without a column.',
  request_id: 'Id of the request at the service.',
  cost_micros:
    'Cost in millionths of a dollar. Equal URLs are bought once: one row has the cost, the others have 0, so that it can be summed.',
  fetched_at: 'Time of the answer, UTC.',
  loaded_at: 'Time of the load, UTC.',
  outdated_at: 'Time since which the job has other options, so that this answer will be replaced, UTC.',
  vanished_at: 'Time since which the row is missing from the input, UTC.',
};

/** The data dictionary, the same for every database. The texts of a released migration never change: add, do not edit. */
const meanings: Readonly<Record<string, Meaning>> = {
  searchflow_jobs: {
    kind: 'TABLE',
    is: 'A row for each job: its input, its options and its view.',
    columns: {
      job: 'Id of the job.',
      name: 'Name of the job.',
      view_name: 'View with the rows of the job.',
      origin: row.origin as string,
      operation: 'Operation that is bought for each row.',
      input: 'Absolute path or URL of the input; - for stdin.',
      columns: 'Columns of the input; row_store.input has the cells in this order.',
      generation: 'Hash of the rows and options of the latest run.',
      options: 'Options of the latest run, as they are sent to the service.',
      rows: 'Number of rows of the input.',
      slices: 'Number of slices of the input.',
      created_at: 'Time of the first run of the job in this warehouse, UTC.',
      opened_at: 'Time of the first run of the latest generation in this warehouse, UTC.',
    },
  },
  row_store: {
    kind: 'TABLE',
    is: 'A row for each row of each job, as it was loaded. Query it through enriched_rows or the view of a job.',
    columns: row,
  },
  enriched_rows: {
    kind: 'VIEW',
    is: 'The rows of all jobs with the fields of their responses. Rows that are in the input now have vanished_at NULL.',
    columns: {
      ...row,
      text: 'Text of the page.',
      highlights: 'Snippets, as a JSON list.',
      summary: 'Summary of the page.',
      cost_dollars: 'cost_micros in dollars, exact.',
    },
  },
  load_ledger: {
    kind: 'TABLE',
    is: 'Slices that are loaded, written in the same transaction as their rows: the record of what is loaded.',
    columns: {
      job: 'Id of the job.',
      generation: 'Generation of the slice.',
      slice: 'Number of the slice, from 0.',
      rows: 'Number of its rows.',
      attempt: 'Attempt that loaded it; unchanged: no row had to be loaded.',
      loaded_at: 'Time of the load, UTC.',
    },
  },
  unknown_outcomes: {
    kind: 'TABLE',
    is: 'Purchases without an answer: they may have been charged.',
    columns: {
      job: 'Id of the job.',
      id: 'Hash that identifies the purchase.',
      book: 'Segment of the journal that has the purchase.',
      operation: 'Operation of the request.',
      unit_keys: 'Units of the request; see row_store.unit_key.',
      intended_at: 'Time of the request, UTC.',
      reason: 'Reason why there is no answer.',
      estimate_micros: 'Estimate of the cost, in millionths of a dollar.',
      recorded_at: 'Time when the purchase was recorded here, UTC.',
    },
  },
  searchflow_runs: {
    kind: 'TABLE',
    is: 'A row for each run of a job that ended as done or stopped: its rows, purchases and missing rows. Failed and cancelled runs have no row.',
    columns: {
      job: 'Id of the job.',
      run: 'Id of the run of its Temporal workflow.',
      scheduled: 'Whether a schedule started it.',
      generation: 'Hash of its rows and options.',
      started_at:
        'Start of the run, UTC. Rows that it missed in the input have a vanished_at between this and ended_at.',
      ended_at: 'End of the run, UTC.',
      phase: 'done, or stopped: the run ended early.',
      reason: 'Reason of a stopped run: budget, credits, key, rate, service or person.',
      message: 'The reason as a sentence.',
      rows: 'Number of rows of the input.',
      success: 'Rows with an answer.',
      error: 'Rows for which the service returned an error.',
      invalid: 'Bad rows, which were never sent.',
      missing: 'Rows that are not loaded yet; the next run continues with them.',
      vanished: 'Rows of earlier inputs that are missing from this input.',
      requests: 'Number of paid requests of the run.',
      cost_micros: 'Cost of these requests, in millionths of a dollar.',
    },
  },
  spend: {
    kind: 'VIEW',
    is: 'Cost of the rows in this warehouse, by day, job and operation. An answer of several rows or jobs counts once, for the first. The bill is searchflow usage: a refreshed row counts only with its latest answer.',
    columns: {
      day: 'Day of the answers, UTC.',
      job: 'Id of the job.',
      operation: 'Operation of the purchases.',
      requests: 'Number of requests with an answer.',
      rows: 'Number of rows with these answers.',
      dollars: 'Cost of the answers.',
      unknown_outcomes: 'Number of purchases without an answer.',
      unknown_dollars: 'Estimated cost of these purchases.',
    },
  },
};

/** COMMENT statements for these tables and views. `prefix`: the schema with its dot, or empty. */
export function commentsOn(
  names: readonly string[],
  prefix = '',
  more: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): string {
  const text = (sentence: string) => `'${sentence.replaceAll("'", "''")}'`;
  return names
    .flatMap((name) => {
      const { kind, is, columns } = meanings[name] as Meaning;
      return [
        `COMMENT ON ${kind} ${prefix}${name} IS ${text(is)};`,
        ...Object.entries({ ...columns, ...more[name] }).map(
          ([column, sentence]) => `COMMENT ON COLUMN ${prefix}${name}.${column} IS ${text(sentence)};`,
        ),
      ];
    })
    .join('\n');
}
