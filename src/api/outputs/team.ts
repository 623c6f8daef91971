import { z } from 'zod';
import { receivers } from '../../core/alerts/alert.js';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { publishModes } from '../../core/choices.js';
import { scheduledRun } from '../../core/workflow-result-schemas.js';

const period = z.object({
  since: number,
  landedMicros: number,
  openMicros: number,
  unknownMicros: number,
  countedMicros: number,
  capMicros: number.nullable(),
});

/** Rate, block, slots, cost and caps of a team. */
export const limits = z.object({
  kind: z.literal('limits'),
  origin: text,
  store: maybeText,
  team: maybeText,
  concurrency: count,
  otherLimits: list(z.object({ host: text, pid: count })),
  profile: text,
  qps: number,
  effectiveQps: number,
  buckets: list(z.object({ name: text, qps: number, effectiveQps: number, used: number })),
  blockedUntil: number.nullable(),
  blockedSince: number.nullable(),
  blockReason: maybeText,
  waiting: count,
  slots: z.object({ limit: count, held: count, elsewhere: count, waiting: count, leftRunning: count }),
  day: period,
  month: period,
});

/** Sums of purchases. */
export const sums = {
  requests: count,
  units: count,
  landedMicros: number,
  openMicros: number,
  unknownOutcomes: count,
  unknownMicros: number,
};

/** Requests and cost, by job, operation or day. */
export const usage = z.object({
  kind: z.literal('usage'),
  by: z.enum(['job', 'operation', 'day']),
  lines: list(z.object({ group: text, ...sums })),
  total: z.object(sums),
});

const compared = {
  journalMicros: number,
  serviceMicros: number,
  differenceMicros: number,
  unknownOutcomes: count,
  unknownAtMostMicros: number,
  unknownMicros: number,
  unexplainedMicros: number,
  keys: list(z.object({ id: text, name: maybeText, serviceMicros: number })),
};

/** `--reconcile`: the journal and the service's bill, by day and key. */
export const reconciliation = z.object({
  kind: z.literal('reconciliation'),
  origin: text,
  team: maybeText,
  agrees: flag,
  days: list(z.object({ day: text, ...compared })),
  total: z.object(compared),
});

/** What a publish wrote. */
export const publish = z.object({
  kind: z.literal('publish'),
  id: text,
  at: text,
  run: text,
  mode: z.enum(publishModes),
  target: text,
  changed: flag,
  tables: list(z.object({ name: text, rows: count, total: count })),
});

const scheduleFields = {
  name: text,
  job: text,
  when: text,
  paused: flag,
  note: maybeText,
  next: list(number),
  queued: count,
  workflow: z.enum(['enrichCsv', 'syncEvents', 'exportMonitorRuns', 'batchMonitors', 'syncAgentRuns']),
  // The input of the workflow: searchflow/schemas/workflow-inputs.json describes its fields.
  input: z.looseObject({}),
  runs: list(scheduledRun),
};

/** A schedule with its last runs. */
export const schedule = z.object(scheduleFields);

/** `--every`, `--cron`: the schedule that was created or changed. */
export const keptSchedule = z.object({ kind: z.literal('schedule'), made: flag, ...scheduleFields });

/** An error of any command with `--json`: the last line on stderr. */
export const failure = z.object({
  kind: z.literal('error'),
  code: text,
  message: text,
  fix: text,
  exitCode: count,
});

/** `alerts test`: for each receiver, why it did not accept the test alert; null if it did. */
export const alertTest = z.object({
  kind: z.literal('alertTest'),
  receivers: list(z.object({ receiver: z.enum(receivers), error: maybeText })),
});

/** The findings of `doctor`. */
export const doctor = z.object({
  kind: z.literal('doctor'),
  problems: count,
  checks: list(z.object({ check: text, ok: flag, why: text, mend: maybeText })),
});

/** The files that `init` wrote and kept, and the lines that an existing .gitignore lacks. */
export const init = z.object({
  kind: z.literal('init'),
  ...{ folder: text, written: list(text), kept: list(text), notIgnored: list(text), next: list(text) },
});
