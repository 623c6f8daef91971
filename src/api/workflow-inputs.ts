import { z } from 'zod';
import { efforts } from '../core/agent-efforts.js';
import {
  type AgentRequest,
  MAX_DURATION_SECONDS,
  MAX_RUN_SECONDS,
  type RunAgentOptions,
  type RunResearchOptions,
} from '../core/agent-run.js';
import type { SyncAgentRunsInput } from '../core/agent-run-sync.js';
import { type Alert, type AlertDelivery, receivers } from '../core/alerts/alert.js';
import { eventTypes } from '../core/events/payloads.js';
import { type BackfillEventsInput, MOST_PARALLEL, type SyncEventsInput } from '../core/events/walk-job.js';
import {
  type BatchMonitorsInput,
  type Decision,
  MAX_BATCH_LIMIT,
  monitorActions,
} from '../core/monitors/monitor-batch.js';
import { type MonitorCall, monitorOperations } from '../core/monitors/monitor-call.js';
import type { CreateMonitorInput } from '../core/monitors/monitor-create.js';
import type { MonitorFilter } from '../core/monitors/monitor-filter.js';
import type { ExportMonitorRunsInput } from '../core/monitors/monitor-warehouse.js';
import type { WorkerHolder } from '../core/processes/presence.js';
import { type PublishStep, publishModes, publishPartitions } from '../core/publish-request.js';
import type { Freshness } from '../core/purchase/freshness.js';
import type { AgentRowsInput } from '../core/rows/agent-rows.js';
import { defaultSchemes, type EnrichCsvInput, type StagedName } from '../core/rows/job.js';
import { ID_PATTERN } from '../core/rows/job-names.js';
import { rowOperations } from '../core/rows/row-operation.js';
import { fileFormats } from '../core/rows/source-fields.js';
import { MOST_STOP_AFTER, type StopAtFailed } from '../core/rows/stop-at-failed.js';
import type { ScheduledJobInput } from '../core/schedule.js';
import { MOST_DOLLARS } from '../core/text/money.js';
import type { ResearchTaskRequest } from './endpoints/research.js';

/** Schemas for all fields of a type: a missing or an extra schema does not compile. */
type Fields<T> = { readonly [Name in keyof T]-?: z.ZodType };

const text = z.string().min(1);
const anyText = z.string();
const flag = z.boolean();
const count = (most?: number) => (most === undefined ? z.int().min(1) : z.int().min(1).max(most));
/** Unix ms, up to the year 9999. */
const moment = z.number().min(0).max(253_402_300_799_999);
/** At most a thousand years. */
const milliseconds = z.number().min(0).max(31_556_952_000_000);
/** Ten years: the server refuses longer timers, and the workflow would retry such a timer forever. */
const LONGEST_WAIT_MS = 315_360_000_000;
/** An ISO date; `Date.parse` checks the format. */
const date = z.string().meta({ format: 'date-time' });
/** Fields that are passed to the service unchecked. */
const open = z.looseObject({});
const dollars = z.number().min(0).max(MOST_DOLLARS);
/** Null is refused: JSON turns NaN into null, which must not mean "no cap". */
export const maxCost = z.union([dollars, z.literal('none')]);

/** Null is refused, as for the cap. */
export const failureLimit = z.union([
  z.strictObject({
    percent: z.number().positive().max(100).meta({ description: 'a percentage above 0 and at most 100' }),
    after: count(MOST_STOP_AFTER).optional(),
  } satisfies Fields<StopAtFailed>),
  z.literal('none'),
]);

/** A time in seconds up to a bound, which `why` explains. */
const seconds = (most: number, why: string) =>
  z
    .number()
    .positive()
    .max(most)
    .meta({ description: `a number of seconds above 0 and at most ${most}, ${why}` });

const freshness = z.strictObject({
  freshAfter: moment.optional(),
  retryTags: z.array(anyText).optional(),
  retryBefore: moment.optional(),
  rebuyBefore: moment.optional(),
} satisfies Fields<Freshness>);

const id = z.string().regex(ID_PATTERN).meta({ description: 'an id of at most 200 letters, digits, _, - and .' });
/** Longer names, and names with control characters, cannot be names of files, folders or tables. */
const jobName = z
  .string()
  .regex(/^\P{Cc}{1,200}$/u)
  .meta({ description: 'a name of at most 200 characters without control characters such as line breaks' });

/** Characters of an SQL statement. */
const MOST_SQL = 100_000;

/** The name of a stage. Other fields, which commands and other versions add, are ignored. */
const staged = z.looseObject({ job: id, generation: id, limit: count().optional() } satisfies Fields<StagedName>);

const delimiter = z
  .string()
  .regex(/^[^"\r\n]$/u)
  .meta({ description: 'one character other than a double quote and a line break' });

const publishStep = z.strictObject({
  to: text,
  mode: z.enum(publishModes).optional(),
  key: z.array(text).optional(),
  partition: z.enum(publishPartitions).optional(),
} satisfies Fields<PublishStep>);

/** How a request is sent, beside its fields. */
const sent = {
  beta: z.array(text).optional(),
  extraHeaders: z.record(z.string(), z.string()).optional(),
  unchecked: flag.optional(),
};

const rows = {
  input: text,
  into: text.nullable().optional(),
  csv: text.nullable().optional(),
  job: jobName.nullable().optional(),
  csvDelimiter: z
    .string()
    .regex(/^[^"\r\n\0\u0080-\uffff]$/)
    .meta({ description: 'one ASCII character other than a double quote and a line break' })
    .optional(),
  csvBom: flag.optional(),
  delimiter: delimiter.nullable().optional(),
  encoding: text.optional(),
  key: z.array(anyText).optional(),
  format: z.enum(fileFormats).optional(),
  sql: text.max(MOST_SQL).optional(),
  table: text.optional(),
  freshness: freshness.nullable().optional(),
  refreshAfterMs: milliseconds.optional(),
  retryFailed: flag.optional(),
  maxCostDollars: maxCost.optional(),
  maxRunSeconds: seconds(MAX_RUN_SECONDS, 'a year').optional(),
  redrive: flag.optional(),
  skipRefused: flag.optional(),
  stopAtFailed: failureLimit.optional(),
  acceptWarnings: z.array(text).optional(),
  publish: publishStep.optional(),
  rowsPerRun: count(100).optional(),
  ...sent,
  origin: text.optional(),
  host: text.optional(),
  scheduled: flag.optional(),
  staged: staged.optional(),
};

const enrichCsv = z.strictObject({
  ...rows,
  // Null for a resumed job whose rows have no URL column.
  urlColumn: anyText.nullable().optional(),
  defaultScheme: z.enum(defaultSchemes).optional(),
  operation: z.enum(rowOperations).optional(),
  template: open.optional(),
  options: open.nullable().optional(),
  batch: count(100).nullable().optional(),
  limit: count().optional(),
} satisfies Fields<EnrichCsvInput>);

const effort = text.meta({ examples: [...efforts] });

const runAgentRows = z.strictObject({
  ...rows,
  query: text,
  outputSchema: open.nullable().optional(),
  effort: effort.optional(),
  systemPrompt: anyText.optional(),
  dataSources: z.array(open).optional(),
  request: open.optional(),
} satisfies Fields<AgentRowsInput>);

/** The fields of a request that are named in its type; other fields pass through. */
type Known<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] };

/** A part of a request: its names are checked here, its values before it is sent. Other fields pass through. */
const part = <T extends object>(fields: Fields<Known<T>>) => z.looseObject(fields);
const anything = z.unknown().optional();

const agentRequest = z.looseObject({
  query: text,
  systemPrompt: anyText.nullable().optional(),
  input: part<NonNullable<AgentRequest['input']>>({ data: anything, exclusion: anything }).nullable().optional(),
  outputSchema: open.nullable().optional(),
  effort: effort.nullable().optional(),
  budget: part<NonNullable<AgentRequest['budget']>>({ maxCostDollars: anything, maxDurationSeconds: anything })
    .nullable()
    .optional(),
  previousRunId: text.nullable().optional(),
  metadata: z.unknown().optional(),
  dataSources: z
    .array(part<{ provider: string }>({ provider: anything }))
    .nullable()
    .optional(),
} satisfies Fields<Known<AgentRequest>>);

const researchRequest = part<ResearchTaskRequest>({
  input: part<ResearchTaskRequest['input']>({ instructions: anything }),
  output: part<NonNullable<ResearchTaskRequest['output']>>({ schema: anything }).optional(),
  model: text.optional(),
});

const bought = {
  refreshAfterMs: milliseconds.optional(),
  maxCostDollars: dollars.optional(),
};

const runAgentOptions = z.strictObject({
  ...bought,
  ...sent,
  maxDurationSeconds: seconds(MAX_DURATION_SECONDS, '24 days: timers cannot be longer').optional(),
  deleteAfter: flag.optional(),
} satisfies Fields<RunAgentOptions>);

const runResearchOptions = z.strictObject({
  ...bought,
  ...sent,
} satisfies Fields<RunResearchOptions>);

const walk = {
  into: text.optional(),
  host: text.optional(),
  types: z
    .array(text.regex(/\S/u).meta({ description: 'a text that is not empty', examples: [...eventTypes] }))
    .nullable()
    .optional(),
  parallel: z
    .int()
    .min(1)
    .max(MOST_PARALLEL)
    .meta({ description: `a whole number from 1 to ${MOST_PARALLEL}, the most requests in flight of a worker` })
    .optional(),
  origin: text.optional(),
  unchecked: flag.optional(),
  scheduled: flag.optional(),
};

const syncEvents = z.strictObject(walk satisfies Fields<SyncEventsInput>);
const backfillEvents = z.strictObject({
  ...walk,
  from: date.optional(),
  until: date.optional(),
  verify: flag.optional(),
} satisfies Fields<BackfillEventsInput>);

const filter = z.strictObject({
  status: text.optional(),
  name: text.optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
} satisfies Fields<MonitorFilter>);

export const decision = z.strictObject({ by: text, why: anyText.optional() } satisfies Fields<Decision>);

const batchMonitors = z.strictObject({
  origin: text.optional(),
  action: z.enum(monitorActions),
  filter: filter.optional(),
  schedule: text.optional(),
  ofSchedule: text.optional(),
  limit: count(MAX_BATCH_LIMIT).optional(),
  into: text.optional(),
  host: text.optional(),
  by: anyText.nullable().optional(),
  approval: z.union([decision, z.enum(['wait', 'none'])]).optional(),
  approvalWithinMs: milliseconds.max(LONGEST_WAIT_MS).optional(),
  // Schedules pass this field to all workflows that they start.
  scheduled: flag.optional(),
} satisfies Fields<BatchMonitorsInput & { readonly scheduled?: boolean }>);

const exportMonitorRuns = z.strictObject({
  origin: text.optional(),
  filter: filter.optional(),
  unchecked: flag.optional(),
  into: text.optional(),
  host: text.optional(),
  // Schedules pass this field to all workflows that they start.
  scheduled: flag.optional(),
} satisfies Fields<ExportMonitorRunsInput & { readonly scheduled?: boolean }>);

const syncAgentRuns = z.strictObject({
  origin: text.optional(),
  into: text.optional(),
  host: text.optional(),
  // Schedules pass this field to all workflows that they start.
  scheduled: flag.optional(),
} satisfies Fields<SyncAgentRunsInput & { readonly scheduled?: boolean }>);

const monitorCall = z.strictObject({
  origin: text.optional(),
  operation: z.enum(monitorOperations),
  input: open,
  unchecked: flag.optional(),
} satisfies Fields<MonitorCall>);

const createMonitor = z.strictObject({
  origin: text.optional(),
  definition: open,
  unchecked: flag.optional(),
  secretFile: text.optional(),
  host: text.optional(),
} satisfies Fields<CreateMonitorInput>);

const scheduled = {
  schedule: text,
  when: anyText.optional(),
  // Temporal refuses longer ids, and a run that uses such an id would be retried forever.
  workflowId: text.max(1000),
};
const scheduledJob = z.discriminatedUnion('workflow', [
  z.strictObject({
    ...scheduled,
    workflow: z.literal('enrichCsv'),
    input: enrichCsv,
  } satisfies Fields<ScheduledJobInput>),
  z.strictObject({ ...scheduled, workflow: z.literal('syncEvents'), input: syncEvents }),
  z.strictObject({ ...scheduled, workflow: z.literal('exportMonitorRuns'), input: exportMonitorRuns }),
  z.strictObject({ ...scheduled, workflow: z.literal('batchMonitors'), input: batchMonitors }),
  z.strictObject({ ...scheduled, workflow: z.literal('syncAgentRuns'), input: syncAgentRuns }),
]);

/** Unknown fields are allowed: workers of other versions share the task queue. */
const workerPresence = z.looseObject({
  host: text,
  pid: z.int().min(1),
} satisfies Partial<Fields<WorkerHolder>>);

/** Unknown fields and types are allowed, as for `workerPresence`. */
const deliverAlert = z.looseObject({
  alert: z.looseObject({
    ...{ id: text, type: text, createdAt: text, text: anyText, data: z.looseObject({}) },
  } satisfies Fields<Alert>),
  receiver: z.enum(receivers),
} satisfies Fields<AlertDelivery>);

/** The public inputs of each workflow: one schema for each argument. */
export const workflowInputs = {
  enrichCsv: [enrichCsv],
  runAgentRows: [runAgentRows],
  runAgent: [agentRequest, runAgentOptions],
  runResearch: [researchRequest, runResearchOptions],
  syncEvents: [syncEvents],
  backfillEvents: [backfillEvents],
  exportMonitorRuns: [exportMonitorRuns],
  syncAgentRuns: [syncAgentRuns],
  batchMonitors: [batchMonitors],
  createMonitor: [createMonitor],
  monitorCall: [monitorCall],
  scheduledJob: [scheduledJob],
  workerPresence: [workerPresence],
  deliverAlert: [deliverAlert],
} as const satisfies { readonly [workflow: string]: readonly z.ZodType[] };
