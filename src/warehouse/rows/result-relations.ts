import type { Dialect } from '../dialect.js';
import type { View } from '../shared/relation.js';
import type { Path, ValueType } from './result-column.js';
import { dollarsOf } from './row-tables.js';

/** A view of the answers of rows, described once; the SQL of every database is made from this description. */
export interface ResultRelation {
  readonly name: string;
  readonly is: string;
  /** What one row stands for. */
  readonly row: string;
  readonly operation: string;
  /** Lists of the answer. The view has a row for each element; if there is no list, a row for each answer. */
  readonly lists: readonly { readonly path: Path; readonly rank: string; readonly is: string }[];
  /** Whether an element of the outer list whose inner list is empty also has a row. */
  readonly keepsEmpty?: boolean;
  readonly columns: readonly ResultViewColumn[];
}

export interface ResultViewColumn {
  readonly name: string;
  readonly is: string;
  /** `count`: the length of a list; `stored`: a column of the row. */
  readonly type: ValueType | 'count' | 'stored';
  readonly path: Path;
  /**
   * Number of the list, from 0, whose element has the value. Default: the innermost list, or the whole answer if there is no
   * list.
   */
  readonly list?: number;
}

const text = (name: string, path: Path, is: string, list?: number): ResultViewColumn => ({
  ...{ name, path, is, type: 'string', list },
});
const of = (type: ResultViewColumn['type'], name: string, path: Path, is: string): ResultViewColumn => ({
  ...{ name, path, is, type },
});
const stored = (name: string, is: string): ResultViewColumn => of('stored', name, [], is);

const requestId = stored('request_id', 'Id of the request at the service.');
const cost = stored(
  'cost_dollars',
  'Cost in dollars. Equal requests are bought once: one row has the cost, the others have 0, so that it can be summed.',
);
const fetchedAt = stored('fetched_at', 'Time of the answer, UTC.');

const result: readonly ResultViewColumn[] = [
  text('url', ['url'], 'URL of the page.'),
  text('title', ['title'], 'Title of the page.'),
  text('published_date', ['publishedDate'], 'Date of the page, as the service returned it.'),
  text('author', ['author'], 'Author of the page.'),
  of('number', 'score', ['score'], 'Score, if the service returned one.'),
  text('text', ['text'], 'Text of the page, if requested.'),
  of('json', 'highlights', ['highlights'], 'Snippets, as a JSON list, if requested.'),
  text('summary', ['summary'], 'Summary of the page, if requested.'),
  text('id', ['id'], 'Id of the document at the service.'),
  of('json', 'extras', ['extras'], 'Links and other extras, as JSON, if requested.'),
  of('json', 'result', [], 'The whole result as JSON, including fields without a column.'),
];
const results = [{ path: ['results'], rank: 'rank', is: 'Position among the results of the row, from 1.' }];

export const resultRelations: readonly ResultRelation[] = [
  {
    name: 'search_results',
    is: 'Results of the searches of rows, a row for each result.',
    row: 'one result of the search of one row of a job',
    operation: 'search',
    lists: results,
    columns: result,
  },
  {
    name: 'answers',
    is: 'Answers to the questions of rows.',
    row: 'one row of the input of one job, with its answer',
    operation: 'answer',
    lists: [],
    columns: [
      of('onlyText', 'answer', ['answer'], 'The answer, if it is a text.'),
      of('structure', 'structured', ['answer'], 'The answer as JSON, if the request has a schema.'),
      of('count', 'citations', ['citations'], 'Number of its sources; see answer_citations.'),
      requestId,
      cost,
      fetchedAt,
    ],
  },
  {
    name: 'answer_citations',
    is: 'Sources of answers, a row for each source.',
    row: 'one source of the answer to one row of one job',
    operation: 'answer',
    lists: [{ path: ['citations'], rank: 'rank', is: 'Position among the sources of the answer, from 1.' }],
    columns: [
      text('url', ['url'], 'URL of the page.'),
      text('title', ['title'], 'Title of the page.'),
      text('published_date', ['publishedDate'], 'Date of the page, as the service returned it.'),
      text('author', ['author'], 'Author of the page.'),
      text('text', ['text'], 'Text of the page, if requested.'),
      text('id', ['id'], 'Id of the document at the service.'),
      of('json', 'citation', [], 'The whole citation as JSON.'),
    ],
  },
  {
    name: 'agent_outputs',
    is: 'Outputs of agent runs, a row for each row of the input. Each row of a shared run has its whole output; run_id names the run.',
    row: 'one row of the input of one job, with the output of its run',
    operation: 'agent',
    lists: [],
    columns: [
      text('run_id', ['id'], 'Id of the run.'),
      text('status', ['status'], 'Final status: completed, failed, cancelled, or another status of the service.'),
      text('stop_reason', ['stopReason'], 'Reason of its end.'),
      text('text', ['output', 'text'], 'Its output as text.'),
      of('structure', 'structured', ['output', 'structured'], 'Its output in the form of the schema, as JSON.'),
      of('number', 'agent_compute_units', ['usage', 'agentComputeUnits'], 'Number of compute units.'),
      of('number', 'searches', ['usage', 'searches'], 'Number of searches.'),
      of('number', 'emails', ['usage', 'emails'], 'Number of e-mail addresses found.'),
      of('number', 'phone_numbers', ['usage', 'phoneNumbers'], 'Number of phone numbers found.'),
      of('json', 'usage', ['usage'], 'The whole usage, as JSON.'),
      of(
        'number',
        'run_cost_dollars',
        ['costDollars', 'total'],
        'Cost of the run in dollars, as the service returned it.',
      ),
      of('json', 'run_cost', ['costDollars'], 'Parts of the cost, as JSON.'),
      text('created_at', ['createdAt'], 'Start of the run, by the service’s clock.'),
      text('completed_at', ['completedAt'], 'End of the run, by the service’s clock.'),
      of('json', 'error', ['error'], 'Error of the run, as JSON.'),
      requestId,
      cost,
      fetchedAt,
    ],
  },
  {
    name: 'agent_grounding',
    is: 'Sources of the fields of agent outputs: a row for each source of a field, and one for a field without a source.',
    row: 'one source of one field in the output of a row’s run, or one field without a source',
    operation: 'agent',
    lists: [
      {
        path: ['output', 'grounding'],
        rank: 'field_rank',
        is: 'Position of the field among those of the run, from 1.',
      },
      { path: ['citations'], rank: 'rank', is: 'Position among the sources of the field, from 1.' },
    ],
    keepsEmpty: true,
    columns: [
      text('field', ['field'], 'Path of the field in the output.', 0),
      text('url', ['url'], 'URL of the source.'),
      text('title', ['title'], 'Title of the source.'),
      text('confidence', ['confidence'], 'Confidence of the service in the field: low, medium, high.', 0),
      { ...of('number', 'score', ['score'], 'Score of the field, if the service returned one.'), list: 0 },
      { ...of('json', 'grounding', [], 'The whole grounding of the field, as JSON.'), list: 0 },
    ],
  },
];

/** First columns of all these views. */
export const firstColumns: readonly (readonly [name: string, is: string])[] = [
  ['job', 'Id of the job.'],
  ['origin', 'Base URL of the service, or sandbox: its data is never real.'],
  ['row_number', 'Number of the row in the input, from 1.'],
];

/**
 * The views of results. They read the whole answers in `row_store`, so that nothing is loaded twice, and a refreshed or vanished row changes
 * at once in every view.
 */
export const resultViews = (dialect: Dialect): readonly View[] =>
  resultRelations.map((relation) => viewOf(relation, dialect));

function viewOf(relation: ResultRelation, dialect: Dialect): View {
  const { name, is, row, lists, columns, operation, keepsEmpty = false } = relation;
  const { prefix } = dialect;
  const items = ['response', ...lists.map((_, index) => `item_${index}`)];
  const from = lists.reduce(
    (query, { path }, index) =>
      dialect.elements(query, items[index] as string, path, `item_${index}`, `place_${index}`, keepsEmpty && index > 0),
    rowsOf(operation, prefix),
  );
  const values = columns
    .filter(({ type }) => type !== 'stored')
    .map(({ name: column, type, path, list }) => {
      const of = items[list === undefined ? lists.length : list + 1] as string;
      const value = type === 'count' ? { count: path, of } : { path, type: type as ValueType, of };
      return { name: column, from: value };
    });
  const read = dialect.read(`(${from}) r`, values);
  const ofRow = columns.filter(({ type }) => type === 'stored').map((column) => column.name);
  const ranks = lists.map(({ rank }, index) => `place_${index} AS ${rank}`);
  const plain = firstColumns.map(([column]) => column);
  const shown = values.map((value, index) => `${read.shown[index]} AS ${value.name}`);
  const described = [
    ...firstColumns,
    ...lists.map(({ rank, is: sentence }) => [rank, sentence] as const),
    ...columns.map((column) => [column.name, column.is] as const),
  ].map(([column, sentence]) => ({ name: column, type: 'other' as const, is: sentence }));
  const query = `SELECT ${[...plain, ...ranks, ...ofRow, ...shown].join(', ')}\nFROM ${read.from}`;
  return { name, is, row, columns: described, query };
}

/** Query of the rows that have an answer and are in the current input of their job. */
function rowsOf(operation: string, prefix: string): string {
  return `SELECT job, origin, row_number, response, error_message, request_id, ${dollarsOf('cost_micros')} AS cost_dollars, fetched_at
  FROM ${prefix}row_store WHERE vanished_at IS NULL AND response IS NOT NULL
    AND job IN (SELECT job FROM ${prefix}searchflow_jobs WHERE operation = '${operation}')`;
}
