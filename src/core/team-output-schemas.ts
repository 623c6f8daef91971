import { z } from 'zod';
import { receivers } from './alerts/alert.js';
import { count, flag, list, maybeText, number, text, time, type ValueOf } from './base-schemas.js';
import { publishModes } from './choices.js';
import { limiterView, slotsInUse } from './limiter/limiter-schemas.js';
import {
  activityStep,
  compared,
  dayUsage,
  periodSpend,
  reconciledDay,
  spendCaps,
  sums,
  unknownOutcome,
  usageGroup,
  usageLine,
} from './purchase/spend-schemas.js';
import { warehouseSummary } from './row-job-schemas.js';
import { jobState, recordedRun, rowFigures } from './rows/job-output-schemas.js';
import { scheduledRun, walkProgress } from './workflow-result-schemas.js';

// What commands know about a team and its machines. Times in Unix ms, amounts in micro-dollars.

const period = periodSpend.extend({ countedMicros: number, capMicros: number.nullable() });

/** Rate, block, slots, cost and caps of a team. */
export const limits = z.object({
  ...{ kind: z.literal('limits'), origin: text, store: maybeText, team: maybeText, concurrency: count },
  otherLimits: list(z.object({ host: text, pid: count })),
  ...limiterView.shape,
  slots: slotsInUse,
  ...{ day: period, month: period },
});

/** Requests and cost, by job, operation or day. */
export const usage = z.object({ kind: z.literal('usage'), by: usageGroup, lines: list(usageLine), total: sums });

/** `--reconcile`: the journal and the service's bill, by day and key. */
export const reconciliation = z.object({
  ...{ kind: z.literal('reconciliation'), origin: text, team: maybeText, agrees: flag },
  ...{ days: list(reconciledDay), total: compared },
});

export const published = z.object({
  id: text.describe('Unique, and later publishes have greater ids.'),
  at: text,
  run: text.describe(
    'The latest run that the warehouse records of a job; the id of the publish if there is none, and for events and monitors.',
  ),
  mode: z.enum(publishModes),
  target: text.describe('The target, without credentials.'),
  changed: flag.describe('False: the same rows of the same run had been appended before, and nothing was written.'),
  tables: list(
    z
      .object({ name: text, rows: count, total: count })
      .describe('`rows`: rows that were published; `total`: rows of the table in the target.'),
  ),
});
/** What a publish wrote. */
export type Published = ValueOf<typeof published>;
/** One publish, as its target records it. */
export type PublishRecord = Pick<Published, 'id' | 'at' | 'run' | 'mode'>;

/** A schedule with its last runs. */
export const schedule = z.object({
  name: text,
  job: text.describe('Name of the job that the schedule runs.'),
  ...{ when: text, paused: flag, note: maybeText, next: list(number) },
  queued: count.describe(
    'Runs of a trigger or backfill that start after the current run, even while the schedule is paused. A long backfill is queued in parts.',
  ),
  workflow: z.enum(['enrichCsv', 'syncEvents', 'exportMonitorRuns', 'batchMonitors', 'syncAgentRuns']),
  // The input of the workflow: searchflow/schemas/workflow-inputs.json describes its fields.
  input: z.looseObject({}),
  runs: list(scheduledRun).describe('The newest first; at most ten.'),
});

/** An error of any command with `--json`: the last line on stderr. */
export const failure = z.object({
  ...{ kind: z.literal('error'), code: text, message: text, fix: text, exitCode: count },
});

/** `alerts test`: for each receiver, why it did not accept the test alert; null if it did. */
export const alertTest = z.object({
  kind: z.literal('alertTest'),
  receivers: list(z.object({ receiver: z.enum(receivers), error: maybeText })),
});

const finding = z.object({
  check: text.describe('Name of the check, such as `state-folder`; the name never changes.'),
  ok: flag.describe('False: work fails, or will fail.'),
  why: text,
  mend: maybeText.describe(
    'What to do, with a command to copy on a line of its own; null if nothing is to be done. With `ok`, it is advice.',
  ),
});
/** The result of one check. */
export type Finding = ValueOf<typeof finding>;
/** The findings of `doctor`. */
export const doctor = z.object({ kind: z.literal('doctor'), problems: count, checks: list(finding) });

/** The files that `init` wrote and kept, and the lines that an existing .gitignore lacks. */
export const init = z.object({
  ...{ kind: z.literal('init'), folder: text, written: list(text), kept: list(text) },
  ...{ notIgnored: list(text), next: list(text) },
});

/** The state of a stream. */
const streamState = z.object({
  ...{ watermark: time, sweptAt: time },
  beganAt: time.describe('When the latest run began. `completedAt`: when the last run ended.'),
  completedAt: time,
  from: time.describe('Start of the range of the latest run; null: the range has no beginning.'),
  to: time,
  windows: count.describe('Sums over the windows of the latest run.'),
  ...{ pages: count, events: count, added: count, changed: count },
  share: number
    .nullable()
    .describe('The done part of the windows that have a beginning and are not empty, 0 to 1; null if there are none.'),
});
/** `pending`: numbers of the windows that are not done, the earliest first. `lengthMs`: total length of the windows of which `share` is a part. */
export type StreamState = ValueOf<typeof streamState> & {
  readonly pending: readonly number[];
  readonly lengthMs: number;
};

const stream = streamState.extend({
  stream: text,
  types: list(text).describe('Event types that the stream is limited to; empty: all.'),
  ...{ kind: text, windowsLeft: count, lagSeconds: count.nullable(), completedSecondsAgo: count.nullable() },
});
/** A stream with its name. */
export type StreamListing = StreamState & Pick<ValueOf<typeof stream>, 'stream' | 'types'>;

const typeCount = z.object({
  ...{ type: text, events: count },
  known: flag.describe('Whether the type is documented (API reference: /websets/v0/events).'),
  latest: time,
});
/** Counts of the events of one type. */
export type TypeCount = ValueOf<typeof typeCount>;

const interruptedWalk = z.object({
  ...{ job: maybeText, stream: text, state: z.enum(['failed', 'stopped', 'interrupted', 'done']) },
  ...{ message: maybeText, resumeText: maybeText },
});
/** An unfinished walk whose workflow, as far as this process sees, is not running. `interrupted`: no server or worker answers for it. */
export type InterruptedWalk = ValueOf<typeof interruptedWalk>;

/** The streams of a warehouse and the walks that load them. */
export const eventStatus = z.object({
  ...{ kind: z.literal('events'), known: flag, missing: text.optional() },
  running: list(z.object({ job: maybeText, ...walkProgress.omit({ next: true }).shape })),
  interrupted: list(interruptedWalk),
  ...{ into: text, origin: text, events: count },
  ...{ streams: list(stream), types: list(typeCount) },
});

const reportedJob = z.object({
  ...{ job: text, name: text, phase: jobState, message: maybeText },
  ...{ rows: warehouseSummary.nullable(), usage: usageLine.nullable() },
});

/** The figures of a report. */
export const report = z.object({
  ...{ kind: z.literal('report'), about: z.enum(['job', 'team']) },
  job: reportedJob.extend({ operation: text, input: text, into: text }).nullable(),
  ...{ origin: text, team: maybeText, at: number, since: number, until: number },
  active: z.object({ since: number, until: number, stepMs: number }),
  limits: z.object({
    ...{ profile: text, windowMs: number },
    buckets: list(z.object({ name: text, qps: number, classes: list(text), of: z.enum(['team', 'key']).optional() })),
  }),
  ...{ activity: list(activityStep), days: list(dayUsage), caps: spendCaps },
  spent: z.object({ day: periodSpend, month: periodSpend }),
  ...{ unknown: list(unknownOutcome), unknownCount: count },
  figures: rowFigures.nullable(),
  ...{ jobs: list(reportedJob), runs: list(recordedRun) },
  streams: list(z.object({ stream: text, into: text, upTo: time, completedAt: time, pending: count })),
  missing: list(text),
});
export type Report = ValueOf<typeof report>;
