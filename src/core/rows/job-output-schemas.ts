import { z } from 'zod';
import { count, counts, flag, list, maybeText, number, text, time, type ValueOf } from '../base-schemas.js';
import { fileFormats } from '../choices.js';
import { retryHelps } from '../purchase/retry-help.js';
import { attempt, landedUnit, unknownOutcome } from '../purchase/spend-schemas.js';
import {
  jobPhase,
  jobProgress,
  jobSummary,
  publishOutcome,
  publishStep,
  type serviceWarning,
  sliceHeartbeat,
  warehouseSummary,
} from '../row-job-schemas.js';

// What commands know about jobs and rows. Times in Unix ms, amounts in micro-dollars.

const restPlan = z.object({ rows: count, toBuy: count, requests: count, estimateMicros: number });
/** The rows of a job beyond its limit, and the cost of buying these rows. */
export type RestPlan = ValueOf<typeof restPlan>;

const badRow = z.object({
  row: count,
  tag: text,
  message: text.describe('Such as `line 12, column 2 ("url"): …`.'),
});
export type BadRow = ValueOf<typeof badRow>;

/** State of a job; `waiting`: no worker answers for it. */
export const jobState = z.enum([...jobPhase.options, 'waiting']);

/** What is known of a job before it buys. */
const planned = {
  ...{ job: text, name: text, service: z.enum(['live', 'sandbox']), origin: text, operation: text, into: text },
  ...{ rows: count, toBuy: count, requests: count, estimateMicros: number },
  estimateIsMost: flag.describe('Whether the price depends on usage, so that the estimate is an upper bound.'),
  seconds: number.describe('Duration at the configured limit; for runs at the service one minute for each fifty runs.'),
  notes: list(text).describe('Sentences for a person, such as changed options, pruned answers or a locked warehouse.'),
};

const urlCells = z.object({
  by: z
    .enum(['option', 'job', 'name', 'contents'])
    .describe('How the column was found; `job`: it is that of the last run.'),
  filled: count.describe('Number of non-empty cells.'),
  urls: count.describe('Number of valid URLs, including URLs to which a scheme was added.'),
  withoutScheme: count.describe('Number of cells that are not URLs but would be URLs with a scheme.'),
});
/** Counts of the cells in the column of URLs. */
export type UrlCells = ValueOf<typeof urlCells>;

/** `--dry-run`: what a run would buy. */
export const plan = z.object({
  kind: z.literal('plan'),
  ...planned,
  status: z
    .enum(['new', 'unfinished', 'changed', 'complete'])
    .describe('State of the job before the run. `complete`: nothing to buy and nothing to load.'),
  limit: count.nullable(),
  rest: restPlan.nullable(),
  urlColumn: z.object({ name: maybeText, ...urlCells.shape }).nullable(),
  key: list(text).optional(),
  ...{ distinctUnits: count, alreadyBought: count, badRows: count },
  maxCostMicros: number.nullable(),
  stopAtFailed: jobProgress.shape.stopAtFailed.unwrap().nullable(),
  publish: publishStep.nullable(),
  badRowExamples: list(badRow),
  redrive: flag,
});
export type PlannedJob = ValueOf<typeof plan>;

/** `retry --dry-run`: what a retry of failed rows would buy. */
export const retryPlan = z.object({ kind: z.literal('retryPlan'), ...planned, toFollow: count, tags: counts });

/** The rows and the cost of a job at its end. */
export const summary = jobSummary.extend({
  kind: z.literal('summary'),
  origin: text,
  sandboxBill: z.object({ micros: number, requests: count }).nullable(),
  unknownMicros: number.nullable(),
  unknownOutcomeExamples: list(unknownOutcome),
  badRowExamples: list(badRow),
  rest: restPlan.optional(),
});

const shown = jobProgress.omit({ next: true }).shape;
/** A job that waits for a person. */
export const paused = z.object({ kind: z.literal('paused'), ...shown, code: text });

/** `--detach`: the job, which the workers run. `done`: all its rows are loaded, and nothing was started. */
export const started = z.object({ kind: z.literal('started'), job: text, state: z.enum(['started', 'done']) });

/** Fields of `status` beside those of a summary or a progress. */
const since = { since: time, message: maybeText };
/** A running job. */
export const progress = z.object({
  kind: z.literal('progress'),
  ...shown,
  phase: jobState,
  totalCostMicros: number,
  running: list(sliceHeartbeat),
  ...since,
});
/** A job of which no more is known now than its state. */
export const state = z.object({ kind: z.literal('status'), job: text, phase: jobState, ...since });
/** A job that ended before the command. Figures of its last run are null if they are not known. */
export const endedSummary = summary.extend({
  ...{ requests: count.nullable(), costMicros: number.nullable(), estimateMicros: number.nullable() },
  seconds: number.nullable(),
});
export const statusSummary = endedSummary.extend({ phase: jobState, ...since });

const knownJob = z.object({
  ...{ job: text, name: text, origin: text, input: text, into: text },
  ...{ format: z.enum(fileFormats).optional(), sql: text.optional(), table: text.optional() },
});
/** A job, or a walk on events, of this folder or its store. */
export type KnownJob = ValueOf<typeof knownJob>;

const nextRun = z.object({ schedule: text, at: time, isPaused: flag });
/** The next run of a schedule, without a time if the schedule is paused or has ended. */
export type NextRun = ValueOf<typeof nextRun>;

const jobListing = knownJob.extend({
  // These fields are null for a run that no worker has opened yet, and rows and cost for a walk, whose phase may be unknown.
  ...{ input: maybeText, into: maybeText },
  ...{ rows: count.nullable(), phase: jobState.nullable(), since: time, costMicros: number.nullable() },
  startedBy: maybeText.describe('The schedule that started the last run of a row job.'),
  schedules: list(nextRun).nullable().describe('The next run first; null: no Temporal server that has them answers.'),
});
export const jobs = list(jobListing);
/** A job with its status. */
export type JobListing = ValueOf<typeof jobListing>;

const cleanedItem = z.object({ what: z.enum(['stages', 'answers', 'drafts', 'logs']), job: maybeText, bytes: count });
export type CleanedItem = ValueOf<typeof cleanedItem>;
/** Output of `clean`. */
export const cleaned = z.object({
  kind: z.literal('cleaned'),
  ...{ dryRun: flag, folder: text, bytes: count, before: count, after: count },
  items: list(cleanedItem),
  notes: list(text),
});
export type Cleaned = ValueOf<typeof cleaned>;

/** Output of `discard`. */
export const discarded = z.object({
  kind: z.literal('discarded'),
  ...{ job: text, name: text, undo: flag, rows: count, discarded: count, failed: count },
});
export type Discarded = ValueOf<typeof discarded>;

/** Output of `forget`. `plan`: nothing was removed, because of `--dry-run` or because nothing is left. */
export const forgotten = z.object({
  kind: z.literal('forgotten'),
  state: z.enum(['plan', 'done']),
  ...{ job: maybeText, url: maybeText, jobs: list(text), units: count, rows: count },
  warehouses: list(z.object({ into: text, rows: count })),
  ...{ stagedRows: count, slices: count, bodies: count, bytes: count },
  ...{ csvs: list(text), targets: list(text), notes: list(text) },
});
export type Forgotten = ValueOf<typeof forgotten>;

const help = z.object({ retry: z.enum(retryHelps), why: text.describe('The reason, as a sentence without its dot.') });
/** What the requests for a unit cost, and the most that requests without an answer may have cost. */
const spent = { costMicros: number, costIsWhole: flag, unknownMicros: number };

const loadedRow = z.object({
  row: count.nullable().describe('Null after the row has vanished from the input.'),
  ...{ hash: text, key: maybeText },
  unit: maybeText.describe('The URL, or the rendered request as JSON; null for a bad row.'),
  ...{ input: list(maybeText), at: number, slice: count },
  status: z.enum(['success', 'error', 'invalid']).describe('`invalid`: a bad row.'),
  ...{ tag: maybeText, message: maybeText, httpStatus: count.nullable(), requestId: maybeText },
  ...{ fetchedAt: time, costMicros: number },
  outdatedAt: time.describe('Since when the job has other options, so that the answer will be replaced.'),
  vanishedAt: time,
});
/** A row as its warehouse has it. */
export type LoadedRow = ValueOf<typeof loadedRow>;
const { hash: _hash, key: _key, row, unit, input, ...load } = loadedRow.shape;

const failedGroup = z.object({
  ...{ status: z.enum(['error', 'invalid']), tag: maybeText, rows: count },
  units: count.describe('Number of their distinct units. `costMicros`: cost of their answers.'),
  costMicros: number,
});
/** Failed rows of a job with one status and tag. */
export type FailedGroup = ValueOf<typeof failedGroup>;

/** The failed rows of a job. */
export const failed = z.object({
  ...{ kind: z.literal('failed'), job: text, into: text, rows: count },
  byTag: list(failedGroup.extend(help.shape)),
  listed: list(
    z.object({
      ...{ row, status: load.status, tag: load.tag, message: load.message, httpStatus: load.httpStatus, unit, input },
      ...{ attempts: count, ...spent, requestId: load.requestId, fetchedAt: load.fetchedAt, ...help.shape },
    }),
  ),
});
export type FailedOfJob = ValueOf<typeof failed>;

const misfit = z.object({
  column: text,
  value: text.describe('The beginning of the value, as text.'),
  expected: text.describe('Type of the column.'),
});
/** A value of an answer that does not fit the type of its column. */
export type Misfit = ValueOf<typeof misfit>;

const publishedAt = publishOutcome.extend({ at: number }).nullable();
/** The latest publish at the end of a run; null: none. */
export type PublishedAt = z.output<typeof publishedAt>;

/** One row of a job, from its input to its warehouse. */
export const trace = z.object({
  ...{ kind: z.literal('trace'), job: text, row: count.nullable() },
  state: z.enum([
    ...(['notBought', 'inFlight', 'unknown', 'landed', 'success', 'failed', 'invalid'] as const),
    ...(['outdated', 'vanished'] as const),
  ]),
  ...{ reason: maybeText, jobState, source: text },
  input: list(z.object({ column: maybeText, value: maybeText })),
  ...{ operation: text, unit: maybeText, unitKey: maybeText },
  sharedWith: z.object({ rows: count, first: list(count) }),
  slice: z.object({ number: count, segment: text, afterLimit: flag }).nullable(),
  ...{ requests: count, ...spent },
  attempts: list(attempt.extend({ job: text })),
  answer: landedUnit.nullable(),
  answerText: maybeText,
  loaded: z.object({ into: text, ...load, ledgerAt: time, misfits: list(misfit) }).nullable(),
  published: publishedAt,
  retry: help.nullable(),
  problems: list(text),
});
export type RowTrace = ValueOf<typeof trace>;

export const recordedRun = z.object({
  job: text,
  run: text.describe("Id of the first run of the job's workflow."),
  ...{ scheduled: flag, startedAt: number, endedAt: number },
  phase: z.enum(['done', 'stopped']),
  reason: maybeText.describe('Why the run stopped, as a code. `message`: as a sentence.'),
  message: maybeText,
  ...{ rows: count, success: count, error: count, invalid: count, missing: count, vanished: count },
  ...{ requests: count, costMicros: number },
});
/** A run as the warehouse recorded it. */
export type RecordedRun = ValueOf<typeof recordedRun>;
/** How a run of a job ended. `warnings`: see `JobSummary.warnings`. */
export type RunRecord = RecordedRun & {
  readonly generation: string;
  readonly warnings?: readonly z.output<typeof serviceWarning>[] | undefined;
};

/** What a report reads from the warehouse of a job. The database adds up: memory does not grow with the rows. */
export const rowFigures = z.object({
  summary: warehouseSummary,
  tags: list(z.object({ status: text, tag: maybeText, rows: count })),
  loads: list(z.object({ at: number, rows: count, failed: count })).describe(
    'Rows of the current input that were loaded in a part of the time, which starts `at`.',
  ),
  viewRows: count.describe("Rows of the job's view. `nulls`: the columns of this view that may be NULL."),
  nulls: list(z.object({ column: text, nulls: count })),
  runs: list(recordedRun).describe('The newest first.'),
});
export type RowFigures = ValueOf<typeof rowFigures>;
