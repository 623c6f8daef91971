import type { Path } from './result-column.js';

/** A view of what came back for rows, in words that every database's SQL is made from. */
export interface ResultRelation {
  readonly name: string;
  readonly is: string;
  /** Operation of the jobs whose rows it shows. */
  readonly operation: string;
  /** Lists to go through: a line for each element, or one line a row where there are none. */
  readonly lists: readonly { readonly path: Path; readonly rank: string; readonly is: string }[];
  /** An outer list's element without an inner one has a line all the same. */
  readonly keepsEmpty?: boolean;
  readonly columns: readonly RelationColumn[];
}

export interface RelationColumn {
  readonly name: string;
  readonly is: string;
  /** `text` and `json`: whatever is there; `string`: only a text; `structure`: only an object or list; `count`: of a list. */
  readonly type: 'text' | 'number' | 'json' | 'string' | 'structure' | 'count' | 'stored';
  /** Path in the element; a `stored` one is a column of the row. */
  readonly path: Path;
  /** Element of which list, from 0; default the innermost, and the whole answer where there is none. */
  readonly list?: number;
}

const text = (name: string, path: Path, is: string, list?: number): RelationColumn => ({
  ...{ name, path, is, type: 'text' },
  ...(list === undefined ? {} : { list }),
});
const of = (type: RelationColumn['type'], name: string, path: Path, is: string): RelationColumn => ({
  ...{ name, path, is, type },
});
const stored = (name: string, is: string): RelationColumn => of('stored', name, [], is);

const requestId = stored('request_id', 'Request that brought the answer; the service knows it by this name.');
const cost = stored(
  'cost_dollars',
  'What it cost. Equal requests are bought once: the cost stands on one row, 0 on the others, so that it can be summed.',
);
const fetchedAt = stored('fetched_at', 'When the answer came, UTC.');

const result: readonly RelationColumn[] = [
  text('url', ['url'], 'Address of the page.'),
  text('title', ['title'], 'Title of the page.'),
  text('published_date', ['publishedDate'], 'Date of the page as the service gives it.'),
  text('author', ['author'], 'Author of the page.'),
  of('number', 'score', ['score'], 'Score, where the service gives one.'),
  text('text', ['text'], 'Text of the page, where it was asked for.'),
  of('json', 'highlights', ['highlights'], 'Snippets, as a JSON list, where they were asked for.'),
  text('summary', ['summary'], 'Summary of the page, where it was asked for.'),
  text('id', ['id'], 'Id of the document at the service.'),
  of('json', 'extras', ['extras'], 'Links and the like, as JSON, where they were asked for.'),
  of('json', 'result', [], 'The whole result as JSON, with fields that have no column here.'),
];
const results = [{ path: ['results'], rank: 'rank', is: 'Place among the results of the row, from 1.' }];

/** All of them. What a released migration made of one never changes: add, don't edit. */
export const resultRelations: readonly ResultRelation[] = [
  {
    name: 'search_results',
    is: 'The results of searches made for rows, a line each.',
    operation: 'search',
    lists: results,
    columns: result,
  },
  {
    name: 'similar_results',
    is: 'The pages found similar to those of rows, a line each.',
    operation: 'findSimilar',
    lists: results,
    columns: result,
  },
  {
    name: 'answers',
    is: 'The answers to questions asked for rows.',
    operation: 'answer',
    lists: [],
    columns: [
      of('string', 'answer', ['answer'], 'The answer, where it is a text.'),
      of('structure', 'structured', ['answer'], 'The answer as JSON, where a schema was asked for.'),
      of('count', 'citations', ['citations'], 'Number of its sources; see answer_citations.'),
      requestId,
      cost,
      fetchedAt,
    ],
  },
  {
    name: 'answer_citations',
    is: 'The sources of answers, a line each.',
    operation: 'answer',
    lists: [{ path: ['citations'], rank: 'rank', is: 'Place among the sources of the answer, from 1.' }],
    columns: [
      text('url', ['url'], 'Address of the page.'),
      text('title', ['title'], 'Title of the page.'),
      text('published_date', ['publishedDate'], 'Date of the page as the service gives it.'),
      text('author', ['author'], 'Author of the page.'),
      text('text', ['text'], 'Text of the page, where it was asked for.'),
      text('id', ['id'], 'Id of the document at the service.'),
      of('json', 'citation', [], 'The whole citation as JSON.'),
    ],
  },
  {
    name: 'agent_outputs',
    is: 'What agent runs came to, a line for each row. Rows that shared a run have its whole output each; run_id tells which.',
    operation: 'agent',
    lists: [],
    columns: [
      text('run_id', ['id'], 'The run.'),
      text('status', ['status'], 'How it ended: completed, failed, cancelled, or what else the service says.'),
      text('stop_reason', ['stopReason'], 'Why it ended.'),
      text('text', ['output', 'text'], 'Its output as text.'),
      of('structure', 'structured', ['output', 'structured'], 'Its output by the schema, as JSON.'),
      of('number', 'agent_compute_units', ['usage', 'agentComputeUnits'], 'Compute units that it used.'),
      of('number', 'searches', ['usage', 'searches'], 'Searches that it made.'),
      of('number', 'emails', ['usage', 'emails'], 'E-mail addresses that it found.'),
      of('number', 'phone_numbers', ['usage', 'phoneNumbers'], 'Phone numbers that it found.'),
      of('json', 'usage', ['usage'], 'All that it used, as JSON.'),
      of('number', 'run_cost_dollars', ['costDollars', 'total'], 'What the run cost, as the service says.'),
      of('json', 'run_cost', ['costDollars'], 'What that is made of, as JSON.'),
      text('created_at', ['createdAt'], 'When it was started, by the service’s clock.'),
      text('completed_at', ['completedAt'], 'When it ended, by the service’s clock.'),
      of('json', 'error', ['error'], 'Why it failed, as JSON.'),
      requestId,
      cost,
      fetchedAt,
    ],
  },
  {
    name: 'agent_grounding',
    is: 'Where the fields of agents’ outputs come from: a line for each source of a field, and one for a field without any.',
    operation: 'agent',
    lists: [
      { path: ['output', 'grounding'], rank: 'field_rank', is: 'Place of the field among those of the run, from 1.' },
      { path: ['citations'], rank: 'rank', is: 'Place among the sources of the field, from 1.' },
    ],
    keepsEmpty: true,
    columns: [
      text('field', ['field'], 'Path of the field in the output.', 0),
      text('url', ['url'], 'Address of the source.'),
      text('title', ['title'], 'Title of the source.'),
      text('confidence', ['confidence'], 'How sure the service is of the field: low, medium, high.', 0),
      { ...of('number', 'score', ['score'], 'Score of the field, where the service gives one.'), list: 0 },
      { ...of('json', 'grounding', [], 'All that the service says of the field, as JSON.'), list: 0 },
    ],
  },
  {
    name: 'research_outputs',
    is: 'What research tasks came to, a line for each row.',
    operation: 'research',
    lists: [],
    columns: [
      text('task_id', ['id'], 'The task; researchId in the response of variant v1.'),
      text('status', ['status'], 'How it ended.'),
      of('json', 'data', ['data'], 'What it found, as JSON.'),
      of('json', 'output', ['output'], 'The same in variant v1.'),
      of('json', 'citations', ['citations'], 'Its sources, as JSON.'),
      of('number', 'task_cost_dollars', ['costDollars', 'total'], 'What it cost, as the service says.'),
      requestId,
      cost,
      fetchedAt,
    ],
  },
];

/** Columns that all of them begin with. */
export const placeColumns: readonly (readonly [name: string, is: string])[] = [
  ['job', 'Id of the job.'],
  ['origin', 'Base URL of the service, or sandbox: its data is never real.'],
  ['row_number', 'Place of the row in the input, from 1.'],
];
