import { z } from 'zod';
import * as inspect from './inspect.js';
import { report } from './report.js';
import * as rows from './rows.js';
import * as service from './service.js';
import * as team from './team.js';

const rowsRun = z.union([rows.plan, rows.summary, rows.paused, rows.started, team.keptSchedule]);
const walkRun = z.union([service.walk, service.pausedWalk, rows.started]);

/**
 * The output of `--json` of each command, by the words of the command. A command with `--stream` prints a line for each event, and each line
 * has this schema. The package has a JSON Schema of each one; the types of the outputs in `cli` are those of these schemas.
 */
export const commandOutputs: { readonly [command: string]: z.ZodType } = {
  enrich: rowsRun,
  start: z.union([rows.plan, rows.summary, rows.paused]),
  'agent rows': rowsRun,
  jobs: rows.jobs,
  status: z.union([rows.progress, rows.statusSummary, rows.state, service.eventStatus]),
  resume: z.union([rows.summary, rows.paused, walkRun]),
  wait: z.union([rows.endedSummary, rows.paused, rows.state, service.walk, service.pausedWalk, service.monitorRuns]),
  publish: team.publish,
  'events sync': z.union([walkRun, team.keptSchedule]),
  'events backfill': walkRun,
  'events verify': z.union([service.walk, service.pausedWalk]),
  'events status': service.eventStatus,
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
  discard: rows.discarded,
  forget: rows.forgotten,
  clean: rows.cleaned,
  report,
  'alerts test': team.alertTest,
  'agent sync': service.agentSync,
};

/** An error of any command with `--json`, which is the last line on stderr. */
export const errorOutput = team.failure;

type Schemas = typeof inspect & typeof rows & typeof service & typeof team & { readonly report: typeof report };
/** An output by the name of its schema. */
export type Output<Name extends keyof Schemas> = z.output<Schemas[Name]>;
