import { z } from 'zod';
import { count, counts, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { fileFormats } from '../../core/choices.js';
import { retryHelps } from '../../core/purchase/retry-help.js';
import {
  jobPhase,
  jobProgress,
  jobSummary,
  publishOutcome,
  publishStep,
  sliceHeartbeat,
} from '../../core/row-job-schemas.js';

/** Rows after `--limit`. */
const rest = z.object({ rows: count, toBuy: count, requests: count, estimateMicros: number });
const time = number.nullable();
/** `message`: such as `line 12, column 2 ("url"): …`. */
const badRows = list(z.object({ row: count, tag: text, message: text }));
/** State of a job; `waiting`: no worker answers for it. */
export const phase = z.enum([...jobPhase.options, 'waiting']);

/** What is known of a job before it buys. */
const planned = {
  ...{ job: text, name: text, service: z.enum(['live', 'sandbox']), origin: text, operation: text, into: text },
  ...{ rows: count, toBuy: count, requests: count, estimateMicros: number, estimateIsMost: flag },
  ...{ seconds: number, notes: list(text) },
};

/** `--dry-run`: what a run would buy. */
export const plan = z.object({
  kind: z.literal('plan'),
  ...planned,
  status: z.enum(['new', 'unfinished', 'changed', 'complete']),
  limit: count.nullable(),
  rest: rest.nullable(),
  urlColumn: z.object({ name: maybeText, by: text, filled: count, urls: count, withoutScheme: count }).nullable(),
  key: list(text).optional(),
  ...{ distinctUnits: count, alreadyBought: count, badRows: count },
  maxCostMicros: number.nullable(),
  stopAtFailed: z.object({ percent: number, after: count }).nullable(),
  publish: publishStep.nullable(),
  badRowExamples: badRows,
  redrive: flag,
});

/** Fields of `status` beside those of a summary or a progress. */
const since = {
  since: time,
  message: maybeText,
};

export const unknownOutcome = z.object({
  ...{ book: text, operation: text, units: count, intendedAt: number, reason: text, estimateMicros: number },
});

/** The rows and the cost of a job at its end. */
export const summary = jobSummary.extend({
  kind: z.literal('summary'),
  origin: text,
  sandboxBill: z.object({ micros: number, requests: count }).nullable(),
  unknownMicros: number.nullable(),
  unknownOutcomeExamples: list(unknownOutcome),
  badRowExamples: badRows,
  rest: rest.optional(),
});

const shown = jobProgress.omit({ next: true }).shape;
/** A job that waits for a person. */
export const paused = z.object({ kind: z.literal('paused'), ...shown, code: text });

/** `--detach`: the job, which the workers run. `done`: all its rows are loaded, and nothing was started. */
export const started = z.object({ kind: z.literal('started'), job: text, state: z.enum(['started', 'done']) });

/** A running job. */
export const progress = z.object({
  kind: z.literal('progress'),
  ...shown,
  phase,
  totalCostMicros: number,
  running: list(sliceHeartbeat),
  ...since,
});
/** A job of which no more is known now than its state. */
export const state = z.object({ kind: z.literal('status'), job: text, phase, ...since });
/** A job that ended before the command. Figures of its last run are null if they are not known. */
export const endedSummary = summary.extend({
  ...{ requests: count.nullable(), costMicros: number.nullable(), estimateMicros: number.nullable() },
  seconds: number.nullable(),
});
export const statusSummary = endedSummary.extend({ phase, ...since });

export const jobs = list(
  z.object({
    job: text,
    name: text,
    origin: text,
    input: maybeText,
    into: maybeText,
    format: z.enum(fileFormats).optional(),
    sql: text.optional(),
    table: text.optional(),
    /** These fields are null for a run that no worker has opened yet, and rows and cost for a walk, whose phase may be unknown. */
    ...{ rows: count.nullable(), phase: phase.nullable(), since: time, costMicros: number.nullable() },
    /** The schedule that started the last run of a row job. */
    startedBy: maybeText,
    /** The next run first, without a time if the schedule is paused or has ended; null: no Temporal server that has them answers. */
    schedules: list(z.object({ schedule: text, at: time, isPaused: flag })).nullable(),
  }),
);

/** `retry --dry-run`: what a retry of failed rows would buy. */
export const retryPlan = z.object({
  kind: z.literal('retryPlan'),
  ...planned,
  toFollow: count,
  tags: counts,
});

/** Output of `clean`. */
export const cleaned = z.object({
  kind: z.literal('cleaned'),
  dryRun: flag,
  folder: text,
  bytes: count,
  before: count,
  after: count,
  items: list(z.object({ what: z.enum(['stages', 'answers', 'drafts', 'logs']), job: maybeText, bytes: count })),
  notes: list(text),
});

/** Output of `discard`. */
export const discarded = z.object({
  kind: z.literal('discarded'),
  job: text,
  name: text,
  undo: flag,
  rows: count,
  discarded: count,
  failed: count,
});

/** Output of `forget`. `plan`: nothing was removed, because of `--dry-run` or because nothing is left. */
export const forgotten = z.object({
  kind: z.literal('forgotten'),
  state: z.enum(['plan', 'done']),
  job: maybeText,
  url: maybeText,
  jobs: list(text),
  units: count,
  rows: count,
  warehouses: list(z.object({ into: text, rows: count })),
  stagedRows: count,
  slices: count,
  bodies: count,
  bytes: count,
  csvs: list(text),
  targets: list(text),
  notes: list(text),
});

const retry = z.enum(retryHelps);
/** What the requests for a unit cost, and the most that requests without an answer may have cost. */
const spent = { costMicros: number, costIsWhole: flag, unknownMicros: number };
const rowStatus = z.enum(['success', 'error', 'invalid']);

/** The failed rows of a job. */
export const failed = z.object({
  kind: z.literal('failed'),
  job: text,
  into: text,
  rows: count,
  byTag: list(
    z.object({
      status: z.enum(['error', 'invalid']),
      ...{ tag: maybeText, rows: count, units: count, costMicros: number, retry, why: text },
    }),
  ),
  listed: list(
    z.object({
      ...{ row: count.nullable(), status: rowStatus, tag: maybeText, message: maybeText },
      ...{ httpStatus: count.nullable(), unit: maybeText, input: list(maybeText) },
      ...{ attempts: count, ...spent, requestId: maybeText, fetchedAt: time, retry, why: text },
    }),
  ),
});

/** One row of a job, from its input to its warehouse. */
export const trace = z.object({
  kind: z.literal('trace'),
  job: text,
  row: count.nullable(),
  state: z.enum([
    ...(['notBought', 'inFlight', 'unknown', 'landed', 'success', 'failed', 'invalid'] as const),
    ...(['outdated', 'vanished'] as const),
  ]),
  reason: maybeText,
  jobState: phase,
  source: text,
  input: list(z.object({ column: maybeText, value: maybeText })),
  operation: text,
  unit: maybeText,
  unitKey: maybeText,
  sharedWith: z.object({ rows: count, first: list(count) }),
  slice: z.object({ number: count, segment: text, afterLimit: flag }).nullable(),
  ...{ requests: count, ...spent },
  attempts: list(
    z.object({
      ...{ at: number, endedAt: time, job: text },
      outcome: z.enum(['landed', 'free', 'unknown', 'open', 'unsent']),
      ...{ requestId: maybeText, run: maybeText, reason: maybeText, units: count },
      ...{ costMicros: number.nullable(), requestMicros: number },
    }),
  ),
  answer: z
    .object({
      at: number,
      status: z.enum(['success', 'error']),
      ...{ tag: maybeText, bought: flag, bytes: count.nullable(), inJournal: flag },
    })
    .nullable(),
  answerText: maybeText,
  loaded: z
    .object({
      ...{ into: text, at: number, slice: count, ledgerAt: time, status: rowStatus, tag: maybeText },
      ...{ message: maybeText, httpStatus: count.nullable(), requestId: maybeText, fetchedAt: time },
      ...{ costMicros: number, outdatedAt: time, vanishedAt: time },
      misfits: list(z.object({ column: text, value: text, expected: text })),
    })
    .nullable(),
  published: publishOutcome.extend({ at: number }).nullable(),
  retry: z.object({ retry, why: text }).nullable(),
  problems: list(text),
});
