import { z } from 'zod';
import { count, flag, json, list, maybeText, number, text, type ValueOf } from './base-schemas.js';
import { monitorActions } from './choices.js';
import { jobPhase, jobSummary, nextAction, pauseReason } from './row-job-schemas.js';
import type { Json } from './text/json.js';

/** Counts of events that were read. */
const walkCounts = {
  pages: count,
  events: count.describe(
    'Number of events that were read. `added`: new events among these. `changed`: events that replaced an older stored version.',
  ),
  added: count,
  changed: count,
};

export const walkProgress = z.object({
  phase: jobPhase,
  pausedFor: pauseReason.nullable(),
  message: maybeText.describe('Why the walk is paused or failed; one sentence.'),
  stream: text,
  windows: count.describe(
    'Number of windows of the run known so far. `windowsDone`: the number of these windows that are done.',
  ),
  windowsDone: count,
  share: number
    .nullable()
    .describe("Share of the run's range in windows that are done, 0 to 1; null if the length of the range is unknown."),
  lengthMs: number
    .optional()
    .describe(
      "Length of the run's range, in ms. A client adds `WalkHeartbeat.coveredMs` to count windows in progress, too.",
    ),
  etaMs: number.nullable().describe('Estimated remaining time, in ms; null while too few windows are done.'),
  startedAt: number,
  ...walkCounts,
  next: nextAction,
});
export type WalkProgress = ValueOf<typeof walkProgress>;

export type WalkCounts = Pick<WalkProgress, keyof typeof walkCounts>;

const differences = {
  missing: count.describe('Events that the warehouse lacked; now loaded.'),
  changed: count.describe("Events with other contents; now replaced by the service's."),
  gone: count.describe('Events no longer returned by the service; rows kept.'),
};
export const verification = z.object({ ...differences, days: list(z.object({ ...differences, day: text })) });
export type Verification = ValueOf<typeof verification>;
export type Differences = Pick<Verification, keyof typeof differences>;

export const walkSummary = z.object({
  stream: text,
  into: text,
  phase: z.enum(['done', 'stopped']).describe('`stopped`: the service refused a scheduled run; see `message`.'),
  message: maybeText,
  watermark: number.nullable().describe('Unix ms; all visible events up to this time are loaded.'),
  windows: count,
  seconds: number,
  verified: verification
    .nullable()
    .optional()
    .describe('The result of a verification; null or absent for other walks.'),
  ...walkCounts,
});
export type WalkSummary = ValueOf<typeof walkSummary>;

const runRequest = z.object({ requestId: maybeText, costDollars: number, bought: flag });
/** A request whose answer is part of a result. `bought`: whether this run of the workflow paid for the request. */
export type RunRequest = ValueOf<typeof runRequest>;
const bought = {
  costDollars: number,
  requests: list(runRequest),
  landed: list(text).describe(
    'Keys of the whole record in the journal; `SearchflowPlugin.readLanded` reads the record.',
  ),
  leftOutBytes: count.nullable().describe('Bytes of an output that was left out because of its size.'),
};

export const runProgress = z.object({
  runId: maybeText,
  status: maybeText.describe("The service's status; null until the start has been answered."),
  startedAt: number.nullable(),
  events: count.nullable().describe("Number of the run's events so far; null if the service has no list of events."),
  costDollars: number.nullable(),
  waitingFor: maybeText,
  phase: z.enum(['running', 'ending', 'done']),
  ageMs: number,
  polledAt: number.nullable(),
});
/** Answer of the `progress` query of `runAgent` and `runResearch`: the state of the run at its last poll. Times in Unix ms by the worker's clock. */
export type RunProgress = ValueOf<typeof runProgress>;
export type RunSnapshot = Omit<RunProgress, 'phase' | 'ageMs' | 'polledAt'>;

/** Input of the activities that follow a run for a while. */
export interface RunStep<Q, C> {
  readonly request: Q;
  readonly call: C;
  /** Start of the workflow in Unix ms. Answers that landed after this time belong to the workflow. */
  readonly askedAt: number;
  /** The activity ends after this time, in ms. */
  readonly sliceMs?: number;
  /** The activity ends when the run has this age, in ms. */
  readonly untilAgeMs?: number;
}

/** The result of following a run in one activity. `look` is the last snapshot of the run; recorded histories have this old name. */
export type RunStepResult<R> =
  | { readonly ended: R; readonly look: null }
  | { readonly ended: null; readonly look: RunSnapshot };

export const agentRunResult = z.object({
  runId: text,
  status: text,
  stopReason: maybeText,
  text: maybeText.describe(
    'The output; null if the run has no output or the output is too large for a history. A large output is read from the journal by the keys in `landed`.',
  ),
  structured: json,
  grounding: list(json),
  usage: json,
  error: json,
  ...bought,
});
export type AgentRunResult = ValueOf<typeof agentRunResult>;

export const researchResult = z.object({ taskId: maybeText, status: maybeText, task: json, ...bought });
export type ResearchResult = ValueOf<typeof researchResult>;

const monitorState = z.object({
  id: text,
  name: maybeText,
  status: maybeText,
  updatedAt: maybeText,
  definition: maybeText.describe(
    "Digest of the monitor's definition: name, search, trigger and so on, without its status. Null where unknown.",
  ),
});
export type MonitorState = ValueOf<typeof monitorState>;
export const batchProgress = z.object({
  phase: z.enum(['planning', 'waiting', 'running', 'done', 'rejected', 'expired', 'failed', 'cancelled']),
  job: text,
  action: z.enum(monitorActions),
  filter: z.object({
    status: text.optional(),
    name: text.optional().describe('Part of the name, in any case.'),
    metadata: z.record(z.string(), z.union([text, number, flag])).optional(),
  }),
  ofSchedule: maybeText.describe('Schedule whose pauses the batch ends; null: the filter selects the monitors.'),
  limit: count.describe('Maximum number of monitors that one call changes.'),
  plan: z.object({ planned: count, already: count, left: count, examples: list(monitorState) }).nullable(),
  decision: z.object({ by: text, why: text.optional(), approved: flag, at: number }).nullable(),
  approveUntil: number.nullable().describe('When the wait for an approval ends.'),
  calls: count,
  lost: count.describe('Calls without an answer; the effect of these calls was read from the monitors.'),
  affected: count,
  message: maybeText,
});
export type BatchProgress = ValueOf<typeof batchProgress>;
export type BatchPhase = BatchProgress['phase'];
export type BatchPlan = NonNullable<BatchProgress['plan']>;

const monitorEffect = z.object({
  id: text,
  name: maybeText,
  kind: z.enum(['affected', 'unplanned', 'missed', 'others']),
  before: monitorState,
  after: monitorState.nullable().describe('Null: the monitor is gone.'),
  note: maybeText.describe('An explanation where the monitor differs from the plan.'),
});
export type MonitorEffect = ValueOf<typeof monitorEffect>;
export type EffectKind = MonitorEffect['kind'];
const effect = z.object({
  affected: count,
  contested: count.describe('Affected monitors that another client also changed between the plan and the end.'),
  ...{ unplanned: count, missed: count, others: count, examples: list(monitorEffect) },
});
export const batchSummary = batchProgress.extend({
  into: text,
  effect: effect.nullable().describe('Null where nothing was to be done or the batch was not approved.'),
});
export type BatchSummary = ValueOf<typeof batchSummary>;
export type BatchEffect = NonNullable<BatchSummary['effect']>;

const monitor = z.looseObject({ id: text }) as z.ZodType as z.ZodType<
  { readonly id: string } & { readonly [field: string]: Json }
>;
export const createdMonitor = z.object({
  monitor,
  adopted: flag.describe('Whether the answer got lost and the monitor was found by its metadata.'),
  secret: z
    .enum(['kept', 'missing'])
    .describe(
      '`missing`: the answer got lost, or had no secret. To get a secret, delete the monitor and create the monitor again with a new id.',
    ),
  others: list(text).describe(
    'Ids of further monitors that calls of this creation made; the answers to these calls got lost.',
  ),
});
export type CreatedMonitorResult = ValueOf<typeof createdMonitor>;
/** A monitor of a creation, and whether its secret is in the store. */
export type MadeMonitor = Pick<CreatedMonitorResult, 'monitor' | 'secret'>;

export const monitorExport = z.object({
  into: text,
  monitors: count,
  read: count.describe('Number of monitors whose new runs have all been read.'),
  added: count.describe('Number of new runs.'),
  again: count.describe('Number of runs that were read again because they had not ended at the last export.'),
  results: count.describe('Number of results in the runs that were read.'),
});
export type MonitorExport = ValueOf<typeof monitorExport>;

export const agentRunSync = z.object({
  into: text,
  pages: count.describe('Number of pages of the list that were read.'),
  runs: count.describe(
    'Number of runs that were read, in the list or alone. `added`: new runs among these. `changed`: runs with other contents than before.',
  ),
  added: count,
  changed: count,
  gone: count.describe('Number of runs that the service no longer returns. Their rows are kept.'),
  unfinished: count.describe('Number of loaded runs that have not ended; the next sync reads them again.'),
  watermark: number
    .nullable()
    .describe('Unix ms; all runs that were created up to this time are loaded. Null until the first complete sync.'),
});
export type AgentRunSync = ValueOf<typeof agentRunSync>;

export const scheduledOutcome = z.object({
  schedule: text,
  phase: z
    .enum(['done', 'stopped', 'skipped'])
    .describe(
      '`stopped`: a person must fix a problem, see `message`; the next run continues. `skipped`: the job was already running.',
    ),
  message: maybeText,
  summary: z
    .union([jobSummary, walkSummary, monitorExport, batchSummary, agentRunSync])
    .nullable()
    .describe('Summary of the job; null if the run was skipped.'),
});
export type ScheduledOutcome = ValueOf<typeof scheduledOutcome>;

export const scheduledRun = z.object({
  workflowId: text,
  /** Unix ms. */
  at: number,
  /**
   * `waiting`: no worker is running that could continue the run. `forgotten`: Temporal has deleted the result of the workflow after its
   * retention time.
   */
  phase: z.enum(['done', 'stopped', 'skipped', 'running', 'waiting', 'failed', 'cancelled', 'forgotten']),
  message: maybeText,
  summary: scheduledOutcome.shape.summary,
});
/** A run of a schedule. */
export type ScheduledRun = ValueOf<typeof scheduledRun>;
/** A run of a workflow on this worker. The run is reported as `running` first, and again when it has ended. */
export type WatchedRun = Omit<ScheduledRun, 'workflowId' | 'at'> & {
  readonly job: string;
  readonly workflowType: string;
};

/** A worker process whose limit is not the team's. */
export type OtherLimit = Readonly<{ host: string; pid: number }>;

const share = z.object({
  requestId: maybeText,
  costDollars: number,
  bought: flag,
  estimated: z.literal(true).optional(),
});
const paidFor = { requests: list(share), costDollars: number, misread: text.optional() };

/** Returns the schema of the result of an operation, whose answer has the schema `data`. */
export const operationResult = (data: z.ZodType) =>
  z.union([z.object({ data, ...paidFor }), z.object({ landed: list(text), bytes: count, preview: text, ...paidFor })]);
