import { z } from 'zod';
import {
  count,
  countFrom1,
  dollars,
  filled,
  json,
  list,
  milliseconds,
  moment,
  number,
  open,
  partly,
  sent,
  text,
  type ValueOf,
} from './base-schemas.js';
import { isLongRunning, type RowOperation, rowOperations } from './rows/row-operation.js';

const atOnce = rowOperations.filter((one) => !isLongRunning(one)) as Exclude<RowOperation, 'agent'>[];

export type RowFields = z.output<typeof open>;

const how = {
  ...partly({
    operation: z
      .enum(atOnce)
      .describe("Default `contents`, which buys the page of each row's URL. Agent runs: `runAgent`, or a job."),
    urlField: filled.describe('Contents: the field of the rows with the URL. Default: found by name and contents.'),
    template: open.describe(
      'Search and answer: the request, with fields of the row in double braces, such as `{"query": "{{company}} official site"}`.',
    ),
    options: open.describe('The part of the request that all rows share. Default for contents: `{"text": true}`.'),
    maxCostDollars: dollars.describe(
      'The cap of the call. Rows that it does not allow are not bought. Default: no cap.',
    ),
    refreshAfterMs: milliseconds.describe('With a record: answers older than this are bought again. Default: none.'),
    maxRebuys: count.describe(
      'How often a request is repeated whose answer got lost, which may have been charged. Default: 3.',
    ),
    concurrency: countFrom1
      .max(1000)
      .describe(
        'Activities in progress at once. Default: 50 without a record, 2 with one, whose activities have many requests.',
      ),
    firstIndex: count.describe('Index of the first row; set in `next`. Default: 0.'),
    spentDollars: dollars.describe('What earlier calls have paid; set in `next`. Default: 0.'),
    startedAt: moment.describe('When the first call began; set in `next`. Default: now.'),
  }),
  ...sent,
};

export const enrichRowsInput = z.strictObject({
  ...partly({
    rows: list(open).describe('The rows: objects, whose fields a template names. Either `rows` or `requests`.'),
    requests: list(open).describe('Search and answer: the whole request of each row.'),
    paidDollars: list(dollars).describe('What earlier calls have paid for these rows; set in `next`.'),
  }),
  ...how,
});
/** Input of `enrichRows`, as a function of workflow code and as a workflow. */
export type EnrichRowsInput = ValueOf<typeof enrichRowsInput>;

/** The input without its rows, which all activities of a call get. */
export const rowsHow = z.strictObject({
  ...how,
  columns: list(text).nullable().describe('The fields of the rows; null: the rows are whole requests.'),
});
export type RowsHow = ValueOf<typeof rowsHow>;

const rowError = z.object({
  tag: text.describe('For programs: `CRAWL_NOT_FOUND`, `MISSING_URL`, `ResultTooLarge`, `BudgetExceeded`, …'),
  message: text,
});
/** Why a row has no answer. */
export type RowError = ValueOf<typeof rowError>;

const rowResult = z.object({
  index: count.describe('Number of the row, from 0.'),
  status: z.enum(['success', 'error']),
  data: json.describe("The page of the row's URL, or the answer to the row's request; null without one."),
  error: rowError.nullable(),
  costDollars: number.describe('What the call paid for the row. Of equal rows, the first has the cost.'),
});
/** The result of one row. */
export type RowResult = ValueOf<typeof rowResult>;

const rowsSummary = z.object({
  rows: count.describe('Number of rows with a result.'),
  succeeded: count.describe('Number of rows with an answer.'),
  failed: count.describe('Number of rows with an error.'),
  costDollars: number.describe('What was paid.'),
  unknownOutcomes: count.describe('Number of requests without an answer, which may have been charged.'),
  stopped: rowError
    .nullable()
    .describe(
      'Why the call ended before all rows: the cap, or a refusal of the service. Its rows have the same error.',
    ),
});
/** The sums of a call of `enrichRows`. */
export type RowsSummary = ValueOf<typeof rowsSummary>;

/** The results in the order of the rows, and their sums. `results` is empty if `onBatch` has got them. */
export interface EnrichedRows {
  readonly results: readonly RowResult[];
  readonly summary: RowsSummary;
}

export const enrichedPage = z.object({
  results: list(rowResult).describe('The results of the first rows, in their order, as many as fit.'),
  summary: rowsSummary.describe('The sums of this page. What all pages so far have cost: `next.spentDollars`.'),
  next: enrichRowsInput
    .nullable()
    .describe('The input of the call for the other rows, with the cap that is left; null: all rows have a result.'),
});
/** Result of the workflow `enrichRows`. */
export type EnrichedPage = ValueOf<typeof enrichedPage>;
