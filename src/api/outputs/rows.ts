import { z } from 'zod';
import { count, counts, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { fileFormats } from '../../core/choices.js';
import {
  jobProgress,
  pauseReason,
  publishOutcome,
  publishStep,
  schemaChange,
  serviceWarning,
  sliceHeartbeat,
} from '../../core/row-job-schemas.js';

/** Rows after `--limit`. */
const rest = z.object({ rows: count, toBuy: count, requests: count, dollars: number });
const badRows = list(z.object({ row: count, tag: text, message: text }));
const pausedFor = pauseReason.nullable();
/** State of a job; `waiting`: no worker answers for it. */
const phase = z.enum(['planning', 'running', 'waiting', 'paused', 'done', 'stopped', 'failed', 'cancelled']);

/** What is known of a job before it buys. */
const planned = {
  job: text,
  name: text,
  service: z.enum(['live', 'sandbox']),
  origin: text,
  operation: text,
  rows: count,
  toBuy: count,
  requests: count,
  dollars: number,
  dollarsAreMost: flag,
  seconds: number,
  into: text,
  notes: list(text),
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
  distinctUrls: count.optional(),
  distinctRequests: count.optional(),
  alreadyBought: count,
  badRows: count,
  maxDollars: number.nullable(),
  stopAtFailed: z.object({ percent: number, after: count }).nullable(),
  publish: publishStep.nullable(),
  badRowExamples: badRows,
  redrive: flag,
});

/** Fields of `status` beside those of a summary or a progress. */
const since = {
  since: maybeText,
  failure: maybeText.optional(),
  stopped: maybeText.optional(),
  message: maybeText,
};

const summaryFields = {
  kind: z.literal('summary'),
  job: text,
  name: text,
  phase,
  origin: text,
  rows: count,
  limit: count.optional(),
  byStatus: z.object({ success: count, error: count, invalid: count, missing: count, vanished: count }),
  tags: counts,
  misfits: counts,
  discarded: count,
  schemaChanges: list(schemaChange),
  warnings: list(serviceWarning),
  published: publishOutcome.nullable(),
  requests: count,
  retried: z.object({ units: count, failedAgain: count }),
  dollars: number,
  estimatedDollars: number,
  totalDollars: number,
  sandboxBill: z.object({ dollars: number, requests: count }).nullable(),
  unknownOutcomes: count,
  unknownDollars: number.nullable(),
  unknownOutcomeExamples: list(
    z.object({ operation: text, urls: count, at: text, dollarsAtMost: number, reason: text }),
  ),
  badRowExamples: badRows,
  rest: rest.optional(),
  into: text,
  view: text.optional(),
  csv: maybeText,
  seconds: number,
};
/** The rows and the cost of a job at its end. */
export const summary = z.object(summaryFields);

/** A job that waits for a person. */
export const paused = z.object({
  kind: z.literal('paused'),
  job: text,
  pausedFor,
  code: text,
  message: maybeText,
  rows: count,
  rowsDone: count,
  dollars: number,
  earlierDollars: number,
  maxDollars: number.nullable(),
  unknownOutcomes: count,
});

/** `--detach`: the job, which the workers run. `done`: all its rows are loaded, and nothing was started. */
export const started = z.object({ kind: z.literal('started'), job: text, state: z.enum(['started', 'done']) });

/** A running job. */
export const progress = z.object({
  kind: z.literal('progress'),
  ...jobProgress.omit({ next: true }).shape,
  phase,
  totalCostMicros: number,
  running: list(sliceHeartbeat),
  ...since,
});
/** A job of which no more is known now than its state. */
export const state = z.object({ kind: z.literal('status'), job: text, phase, ...since });
/** Figures of the last run of a job that has ended; null if they are not known. */
const lastRun = {
  requests: count.nullable(),
  dollars: number.nullable(),
  estimatedDollars: number.nullable(),
  seconds: number.nullable(),
};
/** A job that ended before the command. */
export const endedSummary = z.object({ ...summaryFields, ...lastRun });
export const statusSummary = z.object({ ...summaryFields, ...lastRun, ...since });

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
    rows: count.nullable(),
    phase: phase.nullable(),
    since: maybeText,
    dollars: number.nullable(),
    startedBy: maybeText.optional(),
    nextRun: maybeText.optional(),
    schedules: list(z.object({ name: text, next: maybeText, paused: flag }))
      .nullable()
      .optional(),
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
