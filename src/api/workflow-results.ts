import { z } from 'zod';
import type { AgentRunResult, ResearchResult, RunProgress, RunRequest } from '../core/agent-run.js';
import type { AgentRunSync } from '../core/agent-run-sync.js';
import type { Verification } from '../core/events/event-warehouse.js';
import type { WalkProgress, WalkSummary } from '../core/events/walk-job.js';
import { type BatchProgress, type MonitorState, monitorActions } from '../core/monitors/monitor-batch.js';
import type { CreatedMonitorResult } from '../core/monitors/monitor-create.js';
import type { BatchSummary, MonitorEffect } from '../core/monitors/monitor-effect.js';
import type { MonitorExport } from '../core/monitors/monitor-warehouse.js';
import type { WorkerHolder } from '../core/processes/presence.js';
import type { PublishOutcome } from '../core/publish-request.js';
import type { JobProgress, JobSummary, RetryCounts } from '../core/rows/job.js';
import { pauseReasons } from '../core/rows/job-names.js';
import type { WarehouseSummary } from '../core/rows/row-warehouse.js';
import type { SchemaChange } from '../core/rows/schema-changes.js';
import type { StopAtFailed } from '../core/rows/stop-at-failed.js';
import type { ServiceWarning } from '../core/rows/warnings.js';
import type { ScheduledOutcome } from '../core/schedule.js';
import { count, counts, flag, json, list, maybeText, number, of, text } from './exact-schema.js';

const jobPhase = z.enum(['planning', 'running', 'paused', 'done', 'stopped', 'failed', 'cancelled']);
const pauseReason = z.enum(pauseReasons);

export const jobProgressFields = {
  phase: jobPhase,
  pausedFor: pauseReason.nullable(),
  landing: flag.optional(),
  message: maybeText,
  job: text,
  rows: count,
  rowsDone: count,
  slices: count,
  slicesDone: count,
  failed: count,
  retrying: count.optional(),
  requests: count,
  costMicros: number,
  earlierMicros: number,
  maxCostMicros: number.nullable().optional(),
  stopAtFailed: of<Required<StopAtFailed>>()(z.object({ percent: number, after: count })).optional(),
  unknownOutcomes: count,
  startedAt: number,
};
export const jobProgress = of<JobProgress>()(z.object(jobProgressFields));

export const schemaChange = of<SchemaChange>()(
  z.object({
    of: z.enum(['input', 'output']),
    name: text,
    change: z.enum(['added', 'removed', 'type']),
    from: text.optional(),
    to: text.optional(),
  }),
);

export const publishOutcome = of<PublishOutcome>()(
  z.object({ to: text, error: maybeText, publish: maybeText, rows: count, changed: flag }),
);

export const warehouseSummary = of<WarehouseSummary>()(
  z.object({
    rows: count,
    success: count,
    error: count,
    invalid: count,
    missing: count,
    vanished: count,
    tags: counts,
    misfits: counts.optional(),
    discarded: count.optional(),
    schemaChanges: list(schemaChange).optional(),
    published: publishOutcome.optional(),
    view: text.optional(),
  }),
);

export const serviceWarning = of<ServiceWarning>()(
  z.object({ kind: z.enum(['warning', 'notice']), code: text, path: text, message: text }),
);

export const jobSummary = of<JobSummary>()(
  z.object({
    job: text,
    name: text,
    phase: jobPhase,
    stoppedFor: pauseReason.optional(),
    message: text.optional(),
    limit: count.optional(),
    into: text,
    csv: maybeText,
    published: publishOutcome.optional(),
    warehouse: warehouseSummary,
    requests: count,
    costMicros: number,
    failed: count.optional(),
    warnings: list(serviceWarning).optional(),
    retried: of<RetryCounts>()(z.object({ units: count, failedAgain: count })).optional(),
    estimateMicros: number,
    totalCostMicros: number,
    unknownOutcomes: count,
    seconds: number,
  }),
);

const walkCounts = { pages: count, events: count, added: count, changed: count };

export const walkProgressFields = {
  phase: jobPhase,
  pausedFor: pauseReason.nullable(),
  message: maybeText,
  stream: text,
  windows: count,
  windowsDone: count,
  share: number.nullable(),
  lengthMs: number.optional(),
  etaMs: number.nullable(),
  startedAt: number,
  ...walkCounts,
};
export const walkProgress = of<WalkProgress>()(z.object(walkProgressFields));

const differences = { missing: count, changed: count, gone: count };
export const verification = of<Verification>()(
  z.object({ ...differences, days: list(z.object({ ...differences, day: text })) }),
);

export const walkSummary = of<WalkSummary>()(
  z.object({
    stream: text,
    into: text,
    phase: z.enum(['done', 'stopped']),
    message: maybeText,
    watermark: number.nullable(),
    windows: count,
    seconds: number,
    verified: verification.nullable().optional(),
    ...walkCounts,
  }),
);

const runRequest = of<RunRequest>()(z.object({ requestId: maybeText, costDollars: number, bought: flag }));
const bought = {
  costDollars: number,
  requests: list(runRequest),
  landed: list(text),
  leftOutBytes: count.nullable(),
};

export const runProgress = of<RunProgress>()(
  z.object({
    runId: maybeText,
    status: maybeText,
    startedAt: number.nullable(),
    events: count.nullable(),
    costDollars: number.nullable(),
    waitingFor: maybeText,
    phase: z.enum(['running', 'ending', 'done']),
    ageMs: number,
    polledAt: number.nullable(),
  }),
);

export const agentRunResultFields = {
  runId: text,
  status: text,
  stopReason: maybeText,
  text: maybeText,
  structured: json,
  grounding: list(json),
  usage: json,
  error: json,
  ...bought,
};
export const agentRunResult = of<AgentRunResult>()(z.object(agentRunResultFields));

export const researchResult = of<ResearchResult>()(
  z.object({ taskId: maybeText, status: maybeText, task: json, ...bought }),
);

const monitorState = of<MonitorState>()(
  z.object({ id: text, name: maybeText, status: maybeText, updatedAt: maybeText, definition: maybeText }),
);
const batchFields = {
  phase: z.enum(['planning', 'waiting', 'running', 'done', 'rejected', 'expired', 'failed', 'cancelled']),
  job: text,
  action: z.enum(monitorActions),
  filter: z.object({
    status: text.optional(),
    name: text.optional(),
    metadata: z.record(z.string(), z.union([text, number, flag])).optional(),
  }),
  ofSchedule: maybeText,
  limit: count,
  plan: z.object({ planned: count, already: count, left: count, examples: list(monitorState) }).nullable(),
  decision: z.object({ by: text, why: text.optional(), approved: flag, at: number }).nullable(),
  approveUntil: number.nullable(),
  calls: count,
  lost: count,
  affected: count,
  message: maybeText,
};
export const batchProgress = of<BatchProgress>()(z.object(batchFields));

const monitorEffect = of<MonitorEffect>()(
  z.object({
    id: text,
    name: maybeText,
    kind: z.enum(['affected', 'unplanned', 'missed', 'others']),
    before: monitorState,
    after: monitorState.nullable(),
    note: maybeText,
  }),
);
const effect = {
  affected: count,
  contested: count,
  unplanned: count,
  missed: count,
  others: count,
  examples: list(monitorEffect),
};
export const batchSummaryFields = { ...batchFields, into: text, effect: z.object(effect).nullable() };
export const batchSummary = of<BatchSummary>()(z.object(batchSummaryFields));

export const createdMonitor = of<CreatedMonitorResult>()(
  z.object({
    monitor: z.looseObject({ id: text }) as z.ZodType as z.ZodType<CreatedMonitorResult['monitor']>,
    adopted: flag,
    secret: z.enum(['kept', 'missing']),
    others: list(text),
  }),
);

export const monitorExportFields = {
  into: text,
  monitors: count,
  read: count,
  added: count,
  again: count,
  results: count,
};
export const monitorExport = of<MonitorExport>()(z.object(monitorExportFields));

export const agentRunSync = of<AgentRunSync>()(
  z.object({
    ...{ into: text, pages: count, runs: count, added: count, changed: count, gone: count },
    ...{ unfinished: count, watermark: number.nullable() },
  }),
);

export const scheduledOutcome = of<ScheduledOutcome>()(
  z.object({
    schedule: text,
    phase: z.enum(['done', 'stopped', 'skipped']),
    message: maybeText,
    summary: z.union([jobSummary, walkSummary, monitorExport, batchSummary, agentRunSync]).nullable(),
  }),
);

export const workerHolder = of<WorkerHolder>()(
  z.object({ host: text, pid: count, startTime: maybeText, since: number, store: maybeText }),
);

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
