/** What a table or view of a warehouse is for, and its columns. */
interface Meaning {
  readonly kind: 'TABLE' | 'VIEW';
  readonly is: string;
  readonly columns: Readonly<Record<string, string>>;
}

const row: Readonly<Record<string, string>> = {
  job: 'Id of the job.',
  origin: 'Base URL of the service, or sandbox: its data is never real.',
  generation: 'Run of the job that loaded the row.',
  slice: 'Part of the input that was loaded in one transaction.',
  row_number: 'Place in the input, from 1; NULL once the row is no longer in it.',
  row_hash: 'Start of the SHA-256 of the cells.',
  unit_key: 'What was bought: origin, operation, options and URL, hashed. NULL for a row that cannot be bought.',
  url: 'What was asked for.',
  input: 'The cells as they came; names in searchflow_jobs.columns.',
  status: 'success, error (the service says so) or invalid (never sent).',
  error_tag: 'Why it failed, for machines: the service’s tag, or ours for a row that was never sent.',
  error_message:
    'Why it failed, in words, where anybody said it; for a row that was never sent: line, column and what is wrong; of a success: which fields of its answer don’t fit their types, so that their columns are NULL.',
  http_status: 'Status of the page, where the service said one.',
  source: 'Where the service had the content from: cached, crawled.',
  title: 'Title of the page.',
  author: 'Author of the page.',
  published_date: 'Date of the page as the service gives it.',
  response: 'The whole result as JSON, exactly as it came, with fields that have no column here.',
  request_id: 'Request that brought the answer; the service knows it by this name.',
  cost_micros:
    'Millionths of a dollar. Equal URLs are bought once: the cost stands on one row, 0 on the others, so that it can be summed.',
  fetched_at: 'When the answer came, UTC.',
  loaded_at: 'When the row was loaded, UTC.',
  outdated_at: 'Since when this answer, to other options, waits for its replacement.',
  vanished_at: 'Since when the row is no longer in the input.',
};

/** The data dictionary, the same for every database. What a released migration says of it never changes: add, don't edit. */
const meanings: Readonly<Record<string, Meaning>> = {
  searchflow_jobs: {
    kind: 'TABLE',
    is: 'One line a job: what it reads, with which options, and the view that shows its rows.',
    columns: {
      job: 'Id of the job.',
      name: 'What a person calls it.',
      view_name: 'The view that shows its rows.',
      origin: row.origin as string,
      operation: 'What is bought for each row.',
      input: 'Absolute path, URL or -: where the rows come from.',
      columns: 'Columns of the input; row_store.input holds the cells in this order.',
      generation: 'Identifies content and options of the latest run.',
      options: 'Options of the latest run, as they reach the service.',
      rows: 'Rows of the input.',
      slices: 'Parts the input is loaded in.',
      created_at: 'When the job was first seen here, UTC.',
      opened_at: 'When its latest content was first seen here, UTC.',
    },
  },
  row_store: {
    kind: 'TABLE',
    is: 'A line for each row of each job, as loaded. Read it through enriched_rows or the view of a job.',
    columns: row,
  },
  enriched_rows: {
    kind: 'VIEW',
    is: 'The rows of all jobs with what is in their responses. Rows that are in the input now have vanished_at NULL.',
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
    is: 'Slices that are loaded, written in the same transaction as their rows: the truth about what is loaded.',
    columns: {
      job: 'Id of the job.',
      generation: 'Content and options the slice belongs to.',
      slice: 'Number of the slice, from 0.',
      rows: 'Its rows.',
      attempt: 'Who loaded it: the first attempt that came through. unchanged: nothing was to be loaded.',
      loaded_at: 'When, UTC.',
    },
  },
  unknown_outcomes: {
    kind: 'TABLE',
    is: 'Purchases whose answer never came: they may have been charged.',
    columns: {
      job: 'Id of the job.',
      id: 'Hash of what tells it apart.',
      book: 'Part of the journal it stands in.',
      operation: 'What was asked for.',
      unit_keys: 'What was to be bought; see row_store.unit_key.',
      intended_at: 'When it was sent, UTC.',
      reason: 'What went wrong.',
      estimate_micros: 'What it may have cost, in millionths of a dollar.',
      recorded_at: 'When it was written down here, UTC.',
    },
  },
  searchflow_runs: {
    kind: 'TABLE',
    is: 'A line for each run of a job that came to its end: what it found, bought and left. Failed and cancelled ones are not here.',
    columns: {
      job: 'Id of the job.',
      run: 'Id of the run of its Temporal workflow.',
      scheduled: 'Whether a schedule started it.',
      generation: 'Identifies content and options that it ran with.',
      started_at: 'When it began, UTC. Rows that it missed in the input have a vanished_at between this and ended_at.',
      ended_at: 'When it ended, UTC.',
      phase: 'done, or stopped: a scheduled run that met what others pause for.',
      reason: 'Why it stopped: budget, credits, key, rate, service or person.',
      message: 'The same in a sentence.',
      rows: 'Rows of the input.',
      success: 'Rows with an answer.',
      error: 'Rows that the service could not answer.',
      invalid: 'Rows that could not be asked for.',
      missing: 'Rows not loaded yet: the next run goes on with them.',
      vanished: 'Rows of earlier inputs that are in it no longer.',
      requests: 'Requests that it bought answers with.',
      cost_micros: 'What these cost, in millionths of a dollar.',
    },
  },
  spend: {
    kind: 'VIEW',
    is: 'What the rows in this warehouse cost, by day, job and operation. An answer that serves several rows or jobs counts once, for the first. The bill itself is searchflow usage: rows that were refreshed show their latest answer only.',
    columns: {
      day: 'Day the answers came, UTC.',
      job: 'Id of the job.',
      operation: 'What was bought.',
      requests: 'Requests that brought answers.',
      rows: 'Rows these answers serve.',
      dollars: 'What they cost.',
      unknown_outcomes: 'Purchases whose answer never came.',
      unknown_dollars: 'What these may have cost.',
    },
  },
};

/** COMMENT statements for these tables and views. `prefix`: the schema with its dot, or nothing. */
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
