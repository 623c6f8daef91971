import { z } from 'zod';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { warehouseSummary } from '../../core/row-job-schemas.js';
import { phase, unknownOutcome } from './rows.js';
import { sums } from './team.js';

const usage = z.object({ group: text, ...sums }).nullable();
const rows = { rows: count, success: count, error: count, invalid: count, missing: count, vanished: count };

const aboutJob = {
  job: text,
  name: text,
  phase,
  message: maybeText,
  rows: warehouseSummary.nullable(),
  usage,
};

const run = z.object({
  ...{ job: text, run: text, scheduled: flag, startedAt: number, endedAt: number },
  phase: z.enum(['done', 'stopped']),
  ...{ reason: maybeText, message: maybeText, ...rows },
  ...{ requests: count, costMicros: number },
});

const figures = z.object({
  summary: warehouseSummary,
  tags: list(z.object({ status: text, tag: maybeText, rows: count })),
  loads: list(z.object({ at: number, rows: count, failed: count })),
  viewRows: count,
  nulls: list(z.object({ column: text, nulls: count })),
  runs: list(run),
});

const spent = z.object({ since: number, landedMicros: number, openMicros: number, unknownMicros: number });

/** The figures of a report. */
export const report = z.object({
  kind: z.literal('report'),
  about: z.enum(['job', 'team']),
  job: z.object({ ...aboutJob, operation: text, input: text, into: text }).nullable(),
  ...{ origin: text, team: maybeText, at: number, since: number, until: number },
  active: z.object({ since: number, until: number, stepMs: number }),
  limits: z.object({
    profile: text,
    windowMs: number,
    buckets: list(z.object({ name: text, qps: number, classes: list(text), of: z.enum(['team', 'key']).optional() })),
  }),
  activity: list(
    z.object({
      ...{ bucket: text, at: number, requests: count, units: count, active: count, busiest: count, answered: count },
      ...{ seconds: number, slowest: number, limited: count, waitSeconds: number, failed: count, lost: count },
    }),
  ),
  days: list(z.object({ day: text, operation: text, ...sums })),
  caps: z.object({ dayMicros: number.nullable(), monthMicros: number.nullable() }),
  spent: z.object({ day: spent, month: spent }),
  unknown: list(unknownOutcome),
  unknownCount: count,
  figures: figures.nullable(),
  jobs: list(z.object(aboutJob)),
  runs: list(run),
  streams: list(
    z.object({ stream: text, into: text, upTo: number.nullable(), completedAt: number.nullable(), pending: count }),
  ),
  missing: list(text),
});
