import { z } from 'zod';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { warehouseSummary } from '../../core/row-job-schemas.js';

const sums = {
  ...{ requests: count, units: count, landedDollars: number, openDollars: number },
  ...{ unknownOutcomes: count, unknownDollars: number },
};
const usage = z.object({ group: text, ...sums }).nullable();
const rows = { rows: count, success: count, error: count, invalid: count, missing: count, vanished: count };

const aboutJob = {
  job: text,
  name: text,
  phase: z.enum(['planning', 'running', 'waiting', 'paused', 'done', 'stopped', 'failed', 'cancelled']),
  message: maybeText,
  rows: warehouseSummary.nullable(),
  usage,
};

const run = z.object({
  ...{ job: text, run: text, scheduled: flag, startedAt: text, endedAt: text },
  phase: z.enum(['done', 'stopped']),
  ...{ reason: maybeText, message: maybeText, ...rows },
  ...{ requests: count, costDollars: number },
});

const figures = z.object({
  summary: warehouseSummary,
  tags: list(z.object({ status: text, tag: maybeText, rows: count })),
  loads: list(z.object({ at: text, rows: count, failed: count })),
  viewRows: count,
  nulls: list(z.object({ column: text, nulls: count })),
  runs: list(run),
});

const spent = z.object({ since: text, landedDollars: number, openDollars: number, unknownDollars: number });

/** The figures of a report: times in ISO 8601, amounts in dollars, lengths of time in seconds. */
export const report = z.object({
  kind: z.literal('report'),
  about: z.enum(['job', 'team']),
  job: z.object({ ...aboutJob, operation: text, input: text, into: text }).nullable(),
  ...{ origin: text, team: maybeText, at: text, since: text, until: text },
  active: z.object({ since: text, until: text, stepSeconds: number }),
  limits: z.object({
    profile: text,
    windowSeconds: number,
    buckets: list(z.object({ name: text, qps: number, classes: list(text), of: z.enum(['team', 'key']).optional() })),
  }),
  activity: list(
    z.object({
      ...{ bucket: text, at: text, requests: count, units: count, active: count, busiest: count, answered: count },
      ...{ seconds: number, slowest: number, limited: count, waitSeconds: number, failed: count, lost: count },
    }),
  ),
  days: list(z.object({ day: text, operation: text, ...sums })),
  caps: z.object({ dayDollars: number.nullable(), monthDollars: number.nullable() }),
  spent: z.object({ day: spent, month: spent }),
  unknown: list(
    z.object({ book: text, operation: text, units: count, intendedAt: text, reason: text, estimateDollars: number }),
  ),
  unknownCount: count,
  figures: figures.nullable(),
  jobs: list(z.object(aboutJob)),
  runs: list(run),
  streams: list(z.object({ stream: text, into: text, upTo: maybeText, completedAt: maybeText, pending: count })),
  missing: list(text),
});
