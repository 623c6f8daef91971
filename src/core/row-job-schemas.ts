import { z } from 'zod';
import {
  count,
  countFrom1,
  counts,
  dollars,
  filled,
  flag,
  list,
  maybeText,
  milliseconds,
  moment,
  number,
  open,
  partly,
  seconds,
  sent,
  text,
  type ValueOf,
} from './base-schemas.js';
import {
  defaultSchemes,
  fileFormats,
  MAX_RUN_SECONDS,
  MOST_STOP_AFTER,
  publishModes,
  publishPartitions,
  URLS_PER_REQUEST,
} from './choices.js';
import { efforts } from './request-values.js';
import { ID_PATTERN } from './rows/job-ids.js';
import { pauseReasons } from './rows/job-names.js';
import { rowOperations } from './rows/row-operation.js';
import type { Json } from './text/json.js';

/** Dollars, or `none` for no cap. Null is refused: JSON turns NaN into null, which must not mean "no cap". */
const maxCost = z.union([dollars, z.literal('none')]);
export type MaxCost = ValueOf<typeof maxCost>;

/** The limit of failed answers at which a job pauses. */
const stopAtFailed = z.strictObject({
  percent: z
    .number()
    .positive()
    .max(100)
    .meta({ must: 'a percentage above 0 and at most 100' })
    .describe('The job pauses once this share of the answers has failed; above 0, at most 100.'),
  ...partly({
    after: countFrom1
      .max(MOST_STOP_AFTER)
      .describe('Number of rows whose answers come before the share counts; default 50.'),
  }),
});
export type StopAtFailed = ValueOf<typeof stopAtFailed>;
/** A limit of failed answers, or `none` for no limit. Null is refused, as for the cap. */
const failureLimit = z.union([stopAtFailed, z.literal('none')]);
export type FailureLimit = z.output<typeof failureLimit>;

/** Rules for the landed answers that may be used. */
export const freshness = z.strictObject(
  partly({
    freshAfter: moment.describe('Unix ms; answers that landed before this time are bought again.'),
    retryTags: list(text).describe(
      'Failed units with one of these tags that landed before `retryBefore` (Unix ms) are bought again.',
    ),
    retryBefore: moment,
    rebuyBefore: moment.describe(
      'Unix ms; answers that landed before this time are bought again if neither journal nor warehouse has the body of the answer.',
    ),
  }),
);
export type Freshness = ValueOf<typeof freshness>;

const id = z.string().regex(ID_PATTERN).meta({ must: 'an id of at most 200 letters, digits, _, - and .' });
/** Longer names, and names with control characters, cannot be names of files, folders or tables. */
const jobName = z
  .string()
  .regex(/^\P{Cc}{1,200}$/u)
  .meta({ must: 'a name of at most 200 characters without control characters such as line breaks' });

/** Characters of an SQL statement. */
const MOST_SQL = 100_000;

/** A publish of a job's view as the last step of its run. */
export const publishStep = z.strictObject({
  to: filled.describe('The target; an address has no password.'),
  ...partly({
    mode: z.enum(publishModes).describe('Default `replace`, or `merge` with a key.'),
    key: list(filled),
    partition: z.enum(publishPartitions),
  }),
});
export type PublishStep = ValueOf<typeof publishStep>;

/** How the rows of an input are read. Absent fields: by the name of the file. At most one is set. */
const source = partly({
  format: z.enum(fileFormats),
  sql: filled.max(MOST_SQL).describe('One SELECT statement, for a DuckDB file or a database.'),
  table: filled.describe('Name of a table or view of a DuckDB file, perhaps with its schema.'),
});
export type SourceFields = Readonly<z.output<z.ZodObject<typeof source>>>;

/** What bounds a run of a job. A job keeps these fields of its last run, so that it can be started again. */
export const runBounds = z.object(
  partly({
    maxCostDollars: maxCost.describe(
      'The cap of this run. The job pauses (`budget`) before the cost of the run exceeds the cap. Default: no cap.',
    ),
    maxRunSeconds: seconds(MAX_RUN_SECONDS, 'a year').describe(
      'Age in seconds after which the agent run of a row is left running and the row fails as `RUN_OVERDUE`; default 6 hours.',
    ),
    redrive: flag.describe(
      'At the end of a run, failed rows that may pass are bought once more if their failure cost nothing. With this field, rows whose failure was or may have been charged are bought once more, too.',
    ),
    skipRefused: flag.describe(
      'Records refused rows as failed, even if the service refuses all rows. Default: if all rows are refused, the job pauses (`request`).',
    ),
    stopAtFailed: failureLimit.describe(
      'The job pauses (`failed`) once enough answers have come and too many of them failed; empty answers count as failed. `none` or absent: failed answers do not pause the job.',
    ),
    acceptWarnings: list(filled).describe(
      'Codes of warnings of the service, such as `IGNORED_FIELD`, that do not pause the job. The job pauses (`request`) at any other warning in its first answers.',
    ),
    publish: publishStep.describe('Publishes the view of the job after a complete run.'),
  }),
);
export type RunBounds = ValueOf<typeof runBounds>;

/** Names staged rows; `limit` is the number of rows that a run buys. */
export type StagedName = { readonly job: string; readonly generation: string; readonly limit?: number };
const staged = z
  // Commands and other versions add other fields, which are ignored.
  .looseObject({
    job: id,
    generation: id,
    ...partly({
      limit: countFrom1.describe(
        'Number of first rows to buy; absent: all. The stage has the whole input in any case.',
      ),
    }),
  }) as z.ZodType as z.ZodType<StagedName & { readonly rows?: number }>;

const input = filled.describe("Path of the file on the worker's machine, `.gz` allowed.");
const rows = partly({
  into: filled
    .nullable()
    .describe(
      "Path of a DuckDB file, or address of a PostgreSQL database, to load into, or `sink:NAME` of the worker; default `out/<name>.duckdb` under the worker's directory.",
    ),
  csv: filled.nullable().describe('Path of an enriched CSV that is written at the end.'),
  job: jobName.nullable().describe("Name of the job; default: the file's name without its extension."),
  csvDelimiter: z
    .string()
    .regex(/^[^"\r\n\0\u0080-\uffff]$/)
    .meta({ must: 'one ASCII character other than a double quote and a line break' })
    .describe('Delimiter of that CSV; default: the delimiter of the input.'),
  csvBom: flag.describe('Whether that CSV begins with a byte order mark; default: as the input does.'),
  delimiter: z
    .string()
    .regex(/^[^"\r\n]$/u)
    .meta({ must: 'one character other than a double quote and a line break' })
    .nullable(),
  encoding: filled.describe('Encoding of an input without a byte order mark, such as `windows-1252`; default: UTF-8.'),
  key: list(text).describe(
    "Columns that together identify a row, so that a row keeps its answer when it is moved, or edited in a column that its request does not use. Default: the key of the job's last run; an empty list: rows are matched by their cells.",
  ),
  ...source,
  freshness: freshness.nullable(),
  refreshAfterMs: milliseconds.describe(
    'Maximum age in ms of an answer at the time of staging; older answers are bought again. Default: an answer never expires.',
  ),
  retryFailed: flag.describe(
    'Buys again the rows that failed for a transient reason before this run. If `freshness` is set, `refreshAfterMs` and this field are ignored.',
  ),
  ...runBounds.shape,
  rowsPerRun: countFrom1.max(100).describe('For `agent`: number of rows that share one run, 1–100; default 1.'),
  ...sent,
  origin: filled.describe(
    "Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the job. If no worker of this service is running, the job is refused.",
  ),
  host: filled.describe(
    'The machine that has the input file, for workers on several machines that share a store. If that machine has no worker, the job is refused.',
  ),
  scheduled: flag.describe(
    'A scheduled run ends as `stopped` where it would otherwise pause; the next scheduled run continues.',
  ),
  staged: staged.describe(
    'Names rows that are already staged, by `job` and `generation`; set by commands. The worker reads input, CSV, warehouse and request from its own folder or store. Of the fields in this object only `limit` is used.',
  ),
});

export const enrichCsv = z.strictObject({
  input,
  ...rows,
  ...partly({
    urlColumn: text
      .nullable()
      .describe(
        "Column with the URLs, for `contents`. Default: the column of the job's last run; in the first run, the column is found by name and contents.",
      ),
    defaultScheme: z
      .enum(defaultSchemes)
      .describe(
        "Scheme that is added to URLs without a scheme. Default: the scheme of the job's last run; in the first run, rows with such URLs are bad.",
      ),
    operation: z.enum(rowOperations).describe('The operation that is bought for each row; default `contents`.'),
    template: (open as z.ZodType<Json>).describe(
      'For operations without a column of URLs: the part of the request that is rendered for each row. The texts in this part are Liquid templates over the columns, such as `{ "query": "{{name}} official site" }`.',
    ),
    options: open
      .nullable()
      .describe(
        `The part of the request that all rows share. With a template: the fields that the template does not have. Without a template: contents options. Default: the options of the job's last run; in the first run, \`{ "text": true }\`.`,
      ),
    batch: countFrom1.max(URLS_PER_REQUEST).nullable().describe('Number of URLs in one request, 1–100; default 100.'),
    limit: countFrom1.describe(
      'Number of first rows to buy. A later run of the job without a limit buys the rest. Default: all rows.',
    ),
  }),
});
/** Input of the `enrichCsv` workflow: plain JSON, usable from any Temporal SDK. */
export type EnrichCsvInput = ValueOf<typeof enrichCsv>;

export const effort = filled.meta({ examples: [...efforts] });

export const runAgentRows = z.strictObject({
  input,
  ...rows,
  query: filled.describe(
    'A Liquid template over the columns, such as `Find the CEO of {{name}}`. If several rows share a run, the query is a text without columns.',
  ),
  ...partly({
    outputSchema: open
      .nullable()
      .describe("JSON Schema of a row's output, of type object: its properties become columns."),
    effort: effort.describe('Default `auto`, which is billed by usage.'),
    systemPrompt: text,
    dataSources: list(open),
    request: open.describe(
      'Other fields of the request (API reference: /agent/runs), such as `budget` or `input`. Texts in these fields are templates, too.',
    ),
  }),
});
/** Input of the `runAgentRows` workflow: plain JSON, usable from any Temporal SDK. */
export type AgentRowsInput = ValueOf<typeof runAgentRows>;

export const resumption = z.looseObject(
  partly({
    maxCostDollars: maxCost.describe(
      'The cap of the current run; the cost since the start of the run counts. Absent: the cap is not changed.',
    ),
    skipRefused: z.literal(true).describe('See `enrichCsv.skipRefused`; absent: not changed.'),
    redrive: z.literal(true).describe('See `enrichCsv.redrive`; absent: not changed.'),
    stopAtFailed: failureLimit.describe(
      'See `enrichCsv.stopAtFailed`; absent: not changed. In any case, the answers are counted from the resume on.',
    ),
    acceptWarnings: list(text).describe('Codes that are added to `enrichCsv.acceptWarnings`.'),
  }),
);
/** Content of the signal `resume`. */
export type Resumption = Pick<EnrichCsvInput, keyof typeof resumption.shape>;

export const jobPhase = z.enum(['planning', 'running', 'paused', 'done', 'stopped', 'failed', 'cancelled']);
export const pauseReason = z.enum(pauseReasons);

export const nextAction = z
  .object({
    text: text.describe('What to do: a text without its period.'),
    command: maybeText.describe('The command to run then, without the word `searchflow`; null: none.'),
  })
  .optional()
  .describe('What to do about the message; absent: only to resume the work, if it is paused.');
/** What a person does about a pause or an end. */
export type NextAction = NonNullable<ValueOf<typeof nextAction>>;

export const jobProgress = z.object({
  phase: jobPhase,
  pausedFor: pauseReason.nullable(),
  cap: z
    .enum(['job', 'worker', 'day', 'month'])
    .optional()
    .describe('For a job that is paused for its budget: whose cap is reached.'),
  landing: flag
    .optional()
    .describe(
      'True while a paused job still has requests in flight or loads answers: cost and rows are not final yet.',
    ),
  message: maybeText.describe('Why the job is paused or failed; one sentence.'),
  job: text,
  rows: count.describe(
    'Number of rows of the input, and number of loaded rows. The rows of a slice in progress count once the slice is done.',
  ),
  rowsDone: count,
  slices: count,
  slicesDone: count,
  failed: count.describe(
    'Number of loaded rows with an error. Loaded rows are counted at the start and at each pause; failed units of later slices are added.',
  ),
  retrying: count
    .optional()
    .describe('Number of failed units that are being bought once more, before the end of the run; absent: none.'),
  requests: count,
  costMicros: number,
  earlierMicros: number.describe(
    'The part of `costMicros` for runs at the service that an earlier run of the job started. Their estimates counted under the cap of that run.',
  ),
  maxCostMicros: number.nullable().optional().describe('The cap of this run; null or absent: none.'),
  stopAtFailed: z
    .object({ percent: number, after: count })
    .optional()
    .describe('The limit of failed answers, in answers; absent: none.'),
  unknownOutcomes: count,
  runsLeft: count.optional().describe('Runs at the service that a cancel left running; absent: none.'),
  startedAt: number,
  next: nextAction,
});
export type JobProgress = ValueOf<typeof jobProgress>;

export const schemaChange = z.object({
  of: z.enum(['input', 'output']),
  name: text,
  change: z.enum(['added', 'removed', 'type']),
  from: text.optional(),
  to: text.optional(),
});
export type SchemaChange = ValueOf<typeof schemaChange>;

export const publishOutcome = z.object({
  to: text.describe('The target as it was given.'),
  error: maybeText.describe('Why nothing was published, and what to do; null if the rows are published.'),
  publish: maybeText.describe('Id of the publish; null if nothing was published.'),
  rows: count.describe('Rows that were published.'),
  changed: flag.describe('False: the target has these rows of this run already.'),
});
export type PublishOutcome = ValueOf<typeof publishOutcome>;

export const warehouseSummary = z.object({
  rows: count,
  success: count,
  error: count,
  invalid: count,
  missing: count.describe('Rows of this generation that are not loaded yet.'),
  vanished: count.describe(
    'Rows of an earlier input that are missing from the current input. Such rows are kept, with a time in `vanished_at`.',
  ),
  tags: counts,
  misfits: counts.optional(),
  discarded: count
    .optional()
    .describe(
      'Rows among `error` and `invalid` that a person discarded or forgot. `tags` leaves them out. Absent: none.',
    ),
  schemaChanges: list(schemaChange)
    .optional()
    .describe('Changes of the columns between the latest recorded run and the run before it; absent: none.'),
  published: publishOutcome.optional().describe('The publish at the end of the latest recorded run; absent: none.'),
  view: text
    .optional()
    .describe("The job's view, as it is written in SQL, with its schema if the database has one. Absent: not known."),
});
export type WarehouseSummary = ValueOf<typeof warehouseSummary>;

export const serviceWarning = z.object({ kind: z.enum(['warning', 'notice']), code: text, path: text, message: text });
export type ServiceWarning = ValueOf<typeof serviceWarning>;

export const jobSummary = z.object({
  job: text,
  name: text,
  phase: jobPhase,
  stoppedFor: pauseReason
    .optional()
    .describe('The reason of a stopped run. `message` has the reason and what to do, in one sentence.'),
  message: text.optional(),
  limit: count.optional().describe('Number of first rows that the run asked for; absent: all.'),
  into: text,
  csv: maybeText,
  published: publishOutcome
    .optional()
    .describe('How the last step of the run ended; absent: the run has no such step, or was stopped before.'),
  warehouse: warehouseSummary,
  requests: count.describe('Counts of the purchases of this run.'),
  costMicros: number,
  failed: count
    .optional()
    .describe(
      'Units that failed in this run, also those that the service refused. Absent if the summary is not of a run.',
    ),
  warnings: list(serviceWarning)
    .optional()
    .describe('Warnings and notices of the service in the answers of this run, each code and path once. Absent: none.'),
  retried: z
    .object({ units: count, failedAgain: count })
    .optional()
    .describe(
      'Failed units that were bought once more before the end of the run, and how many of these failed again. Absent: none.',
    ),
  estimateMicros: number.describe('Price of the same requests by the price table.'),
  totalCostMicros: number.describe('Cost of all purchases for the job in the journal, over all runs of the job.'),
  unknownOutcomes: count,
  seconds: number,
});
export type JobSummary = ValueOf<typeof jobSummary>;
export type RetryCounts = NonNullable<JobSummary['retried']>;

export const sliceHeartbeat = z.object({
  slice: count,
  units: count,
  landed: count,
  failed: count.describe('Units among `landed` that ended in an error.'),
  costMicros: number,
  earlierMicros: number.describe('The part of `costMicros` that counted under the caps of earlier runs of the job.'),
  waitingFor: maybeText,
});
/** Heartbeat details of a running slice. */
export type SliceHeartbeat = ValueOf<typeof sliceHeartbeat>;
