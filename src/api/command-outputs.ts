import { z } from 'zod';
import { list, text } from '../core/base-schemas.js';
import * as rows from '../core/rows/job-output-schemas.js';
import * as team from '../core/team-output-schemas.js';
import { dollarsName, isTime } from '../core/text/printed.js';
import * as results from '../core/workflow-result-schemas.js';
import { agentRun, agentRunEvent } from './schemas/agent-run-schemas.js';

/** The results that commands print beside those of `core`, such as results of workflows with their kinds. */
const service = {
  agentRuns: list(agentRun),
  agentResult: results.agentRunResult,
  // `--stream`: a line for each event of the service, then the result.
  streamedResult: z.object({ kind: z.literal('result'), ...results.agentRunResult.shape }),
  createdMonitor: z.object({ kind: z.literal('monitor'), ...results.createdMonitor.shape }),
  batch: z.object({ kind: z.literal('batch'), ...results.batchSummary.shape }),
  // A decision on a batch that another process runs.
  decision: z.object({ kind: z.literal('decision'), job: text, decision: z.enum(['approve', 'reject']), by: text }),
  deletedMonitor: z.object({ kind: z.literal('deleted'), id: text }),
  monitorRuns: z.object({ kind: z.literal('export'), ...results.monitorExport.shape }),
  agentSync: z.object({ kind: z.literal('agent-sync'), ...results.agentRunSync.shape }),
  // The end of a sync, a backfill or a verification.
  walk: z.object({ kind: z.literal('events'), job: text, ...results.walkSummary.shape }),
  pausedWalk: z.object({
    ...{ kind: z.literal('paused'), job: text, code: text },
    ...results.walkProgress.omit({ next: true }).shape,
  }),
  publish: z.object({ kind: z.literal('publish'), ...team.published.shape }),
  // `--every`, `--cron`: the schedule that was created or changed.
  keptSchedule: z.object({ kind: z.literal('schedule'), made: z.boolean(), ...team.schedule.shape }),
};
/** A monitor, or a run of a monitor, as the service returns it. */
const serviceObject = z.looseObject({ id: text });

const rowsRun = z.union([rows.plan, rows.summary, rows.paused, rows.started, service.keptSchedule]);
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
  status: z.union([rows.progress, rows.statusSummary, rows.state, team.eventStatus]),
  resume: z.union([rows.summary, rows.paused, walkRun]),
  wait: z.union([rows.endedSummary, rows.paused, rows.state, service.walk, service.pausedWalk, service.monitorRuns]),
  publish: service.publish,
  'events sync': z.union([walkRun, service.keptSchedule]),
  'events backfill': walkRun,
  'events verify': z.union([service.walk, service.pausedWalk]),
  'events status': team.eventStatus,
  'agent run': z.union([service.agentResult, service.streamedResult, agentRunEvent]),
  'agent list': service.agentRuns,
  'agent cancel': agentRun,
  'monitors create': service.createdMonitor,
  'monitors list': list(serviceObject),
  'monitors runs': z.union([list(serviceObject), serviceObject]),
  'monitors pause': service.batch,
  'monitors unpause': service.batch,
  'monitors delete': z.union([service.batch, service.deletedMonitor]),
  'monitors approve': z.union([service.batch, service.decision]),
  'monitors reject': z.union([service.batch, service.decision]),
  'monitors export': z.union([service.monitorRuns, rows.started, service.keptSchedule]),
  'schedule list': z.array(team.schedule),
  'schedule show': team.schedule,
  limits: team.limits,
  usage: z.union([team.usage, team.reconciliation]),
  doctor: team.doctor,
  failed: rows.failed,
  trace: rows.trace,
  retry: z.union([rows.retryPlan, rows.summary, rows.paused]),
  init: team.init,
  discard: rows.discarded,
  forget: rows.forgotten,
  clean: rows.cleaned,
  report: team.report,
  'alerts test': team.alertTest,
  'agent sync': service.agentSync,
};

/** An error of any command with `--json`, which is the last line on stderr. */
export const errorOutput = team.failure;

/** The file of the schema of a command, such as `events-sync.json`. */
export const schemaFile = (command: string): string => `${command.replaceAll(' ', '-')}.json`;

/** Returns the JSON Schema of the output of a command. `isExact`: further fields are refused, which later versions may add. */
export function outputSchema(command: string, schema: z.ZodType, isExact = false) {
  const override = ({ jsonSchema }: { readonly jsonSchema: JsonSchema }) => {
    if (!isExact && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    const fields = Object.entries(jsonSchema.properties ?? {});
    if (fields.length > 0) jsonSchema.properties = Object.fromEntries(fields.flatMap(printedField));
    // Zod calls this again for an object that may be null or absent.
    if (jsonSchema.required) jsonSchema.required = [...new Set(jsonSchema.required.flatMap(printedNames))];
  };
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'output', override });
  const title = command === 'error' ? 'an error on stderr' : `searchflow ${command} --json`;
  return { $schema, $id: `searchflow/schemas/${schemaFile(command)}`, title, ...rest };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

const printedNames = (field: string): string[] => [field, dollarsName(field) ?? []].flat();

function printedField([field, schema]: [string, z.core.JSONSchema._JSONSchema]): [string, JsonSchema][] {
  if (typeof schema === 'boolean') return [];
  if (isTime(field))
    return [[field, schema.items ? { ...schema, items: { type: 'string' } } : ofNumber(schema, 'string')]];
  return printedNames(field).map((name) => [name, name === field ? schema : ofNumber(schema, 'number')]);
}

/** The schema of a number, which may be null, for its printed form. */
function ofNumber(schema: JsonSchema, printedAs: 'string' | 'number'): JsonSchema {
  const types = (schema.anyOf ?? [schema]).map(({ type }) => type);
  if (!types.every((type) => type === 'number' || type === 'integer' || type === 'null')) return schema;
  const type = types.includes('null') ? ([printedAs, 'null'] as unknown as typeof printedAs) : printedAs;
  return { type, description: schema.description };
}

type Schemas = typeof rows & typeof service & typeof team;
/** An output by the name of its schema. */
export type Output<Name extends keyof Schemas> = z.output<Schemas[Name]>;
