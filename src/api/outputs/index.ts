import { z } from 'zod';
import { dollarsName, isTime } from '../../core/text/printed.js';
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
  failed: rows.failed,
  trace: rows.trace,
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
  return { type: types.includes('null') ? ([printedAs, 'null'] as unknown as typeof printedAs) : printedAs };
}

type Schemas = typeof rows & typeof service & typeof team & { readonly report: typeof report };
/** An output by the name of its schema. */
export type Output<Name extends keyof Schemas> = z.output<Schemas[Name]>;
