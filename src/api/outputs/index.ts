import { z } from 'zod';
import * as events from './events.js';
import * as inspect from './inspect.js';
import * as mend from './mend.js';
import { report } from './report.js';
import * as rows from './rows.js';
import * as service from './service.js';
import * as team from './team.js';

const rowsRun = z.union([rows.plan, rows.summary, rows.paused, rows.started, team.keptSchedule]);
const walkRun = z.union([events.walk, events.pausedWalk, rows.started]);

/**
 * The output of `--json` of each command, by the words of the command. A command with `--stream` prints a line for each event, and each line
 * has this schema. The package has a JSON Schema of each one; the types of the outputs in `cli` are those of these schemas.
 */
export const commandOutputs: { readonly [command: string]: z.ZodType } = {
  enrich: rowsRun,
  start: z.union([rows.plan, rows.summary, rows.paused]),
  'agent rows': rowsRun,
  jobs: rows.jobs,
  status: z.union([rows.progress, rows.statusSummary, rows.state, events.eventStatus]),
  resume: z.union([rows.summary, rows.paused, walkRun]),
  wait: z.union([rows.endedSummary, rows.paused, rows.state, events.walk, events.pausedWalk, service.monitorRuns]),
  publish: team.publish,
  'events sync': z.union([walkRun, team.keptSchedule]),
  'events backfill': walkRun,
  'events verify': z.union([events.walk, events.pausedWalk]),
  'events status': events.eventStatus,
  'agent run': z.union([service.agentResult, service.streamedResult, service.agentEvent]),
  'agent list': service.agentRuns,
  'agent cancel': service.agent,
  'monitors create': service.createdMonitor,
  'monitors list': service.serviceObjects,
  'monitors runs': z.union([service.serviceObjects, service.serviceObject]),
  'monitors pause': service.batch,
  'monitors unpause': service.batch,
  'monitors delete': z.union([service.batch, service.deletedMonitor]),
  'monitors approve': z.union([service.batch, service.decision]),
  'monitors reject': z.union([service.batch, service.decision]),
  'monitors export': z.union([service.monitorRuns, rows.started, team.keptSchedule]),
  'schedule list': z.array(team.schedule),
  'schedule show': team.schedule,
  limits: team.limits,
  usage: z.union([team.usage, team.reconciliation]),
  doctor: team.doctor,
  failed: inspect.failed,
  trace: inspect.trace,
  retry: z.union([rows.retryPlan, rows.summary, rows.paused]),
  init: team.init,
  discard: mend.discarded,
  forget: mend.forgotten,
  clean: mend.cleaned,
  report,
  'alerts test': team.alertTest,
  'agent sync': service.agentSync,
};

/** An error of any command with `--json`, which is the last line on stderr. */
export const errorOutput = team.failure;

type Shape<S extends z.ZodType> = z.output<S>;
export type PlanOutput = Shape<typeof rows.plan>;
export type SummaryOutput = Shape<typeof rows.summary>;
export type EndedSummaryOutput = Shape<typeof rows.endedSummary>;
export type PausedOutput = Shape<typeof rows.paused>;
export type ProgressOutput = Shape<typeof rows.progress>;
export type StartedOutput = Shape<typeof rows.started>;
export type RetryPlanOutput = Shape<typeof rows.retryPlan>;
export type CleanedOutput = Shape<typeof mend.cleaned>;
export type DiscardedOutput = Shape<typeof mend.discarded>;
export type ForgetOutput = Shape<typeof mend.forgotten>;
export type StateOutput = Shape<typeof rows.state>;
export type StatusSummaryOutput = Shape<typeof rows.statusSummary>;
export type JobsOutput = Shape<typeof rows.jobs>;
export type WalkOutput = Shape<typeof events.walk>;
export type PausedWalkOutput = Shape<typeof events.pausedWalk>;
export type EventStatusOutput = Shape<typeof events.eventStatus>;
export type LimitsOutput = Shape<typeof team.limits>;
export type UsageOutput = Shape<typeof team.usage>;
export type ReconciliationOutput = Shape<typeof team.reconciliation>;
export type PublishOutput = Shape<typeof team.publish>;
export type ScheduleOutput = Shape<typeof team.schedule>;
export type ErrorOutput = Shape<typeof team.failure>;
export type DoctorOutput = Shape<typeof team.doctor>;
export type KeptScheduleOutput = Shape<typeof team.keptSchedule>;
export type CreatedMonitorOutput = Shape<typeof service.createdMonitor>;
export type DeletedMonitorOutput = Shape<typeof service.deletedMonitor>;
export type FailedOutput = Shape<typeof inspect.failed>;
export type TraceOutput = Shape<typeof inspect.trace>;
export type ReportOutput = Shape<typeof report>;
export type AlertTestOutput = Shape<typeof team.alertTest>;
export type AgentSyncOutput = Shape<typeof service.agentSync>;
export type InitOutput = Shape<typeof team.init>;
export type BatchOutput = Shape<typeof service.batch>;
export type DecisionOutput = Shape<typeof service.decision>;
export type MonitorExportOutput = Shape<typeof service.monitorRuns>;
