import { z } from 'zod';
import { receivers } from './alerts/alert.js';
import {
  countFrom1,
  dollars,
  filled,
  flag,
  list,
  milliseconds,
  open,
  partly,
  seconds,
  sent,
  text,
  type ValueOf,
} from './base-schemas.js';
import { MAX_BATCH_LIMIT, MAX_DURATION_SECONDS, MOST_PARALLEL, monitorActions } from './choices.js';
import { enrichRowsInput } from './enrich-rows-schemas.js';
import { eventTypes } from './events/payloads.js';
import { effort, enrichCsv, runAgentRows } from './row-job-schemas.js';
import type { Json } from './text/json.js';

/** Ten years: the server refuses longer timers, and the workflow would retry such a timer forever. */
const LONGEST_WAIT_MS = 315_360_000_000;
/** An ISO date; `Date.parse` checks the format. */
const date = z.string().meta({ format: 'date-time' });

/** A part of a request. Its names are checked here, its values before it is sent. Other fields pass through. */
const part = <T>(...names: readonly (keyof T & string)[]) =>
  z.looseObject(Object.fromEntries(names.map((name) => [name, z.unknown().optional()]))) as z.ZodType as z.ZodType<T>;

type Rows = readonly { readonly [name: string]: Json }[];
const agentRequest = z.looseObject({
  query: filled,
  ...partly({
    systemPrompt: text.nullable(),
    input: part<{ readonly data?: Rows; readonly exclusion?: Rows }>('data', 'exclusion')
      .nullable()
      .describe('`data`: rows to work on; `exclusion`: rows to leave out.'),
    outputSchema: (open as z.ZodType as z.ZodType<object>)
      .nullable()
      .describe('JSON Schema of the structured output; `toOutputSchema` converts a zod schema.'),
    effort: effort.nullable().describe('Default `auto`.'),
    budget: part<{ readonly maxCostDollars?: number; readonly maxDurationSeconds?: number }>(
      'maxCostDollars',
      'maxDurationSeconds',
    ).nullable(),
    previousRunId: filled.nullable().describe('A completed run to continue from.'),
    metadata: z.unknown().describe('Any JSON.'),
    dataSources: list(part<{ readonly provider: string }>('provider')).nullable(),
  }),
});
/** Request of an agent run, as sent (API reference: /agent/runs). Unknown fields pass through. */
export type AgentRequest = ValueOf<typeof agentRequest>;

const researchRequest = z.looseObject({
  input: part<{ readonly instructions: string }>('instructions'),
  ...partly({ output: part<{ readonly schema?: unknown }>('schema'), model: filled }),
});

const bought = partly({
  refreshAfterMs: milliseconds.describe(
    'Maximum age in ms of a landed answer that is used; an older answer is bought again. Default: a landed answer never expires. 0: a new answer is always bought.',
  ),
  maxCostDollars: dollars.describe(
    'The cap of the run, in dollars. For a run that is billed by usage, the cap is sent as the budget. A run whose fixed price is higher than the cap is not started.',
  ),
  ...sent,
});
const runResearchOptions = z.strictObject(bought);
/** Options of the purchase of a run. */
export type RunResearchOptions = ValueOf<typeof runResearchOptions>;

const runAgentOptions = runResearchOptions.extend(
  partly({
    maxDurationSeconds: seconds(MAX_DURATION_SECONDS, '24 days: timers cannot be longer').describe(
      'Age in seconds at which the run is ended. Runs of the efforts `max` and `ultra` are stopped, so that their output is kept; other runs are cancelled.',
    ),
    deleteAfter: flag.describe('Whether the run is deleted at the service once its result has landed.'),
  }),
);
export type RunAgentOptions = ValueOf<typeof runAgentOptions>;

const warehouseHost = filled.describe('The machine that has the warehouse file, for workers on several machines.');

const syncEvents = z.strictObject(
  partly({
    into: filled.describe(
      'Warehouse: path of a DuckDB file, or address of a PostgreSQL database; or `sink:NAME` of the worker. Default `out/events.duckdb`.',
    ),
    host: warehouseHost,
    types: list(filled.regex(/\S/u).meta({ must: 'a text that is not empty', examples: [...eventTypes] }))
      .nullable()
      .describe(
        'Event types to load (API reference: /websets/v0/events); default: all. Each list of types is a stream of its own with its own watermark.',
      ),
    parallel: countFrom1
      .max(MOST_PARALLEL)
      .meta({ must: `a whole number from 1 to ${MOST_PARALLEL}, the most requests in flight of a worker` })
      .describe('Number of windows in progress at once, 1 to 256; default 16.'),
    origin: filled.describe(
      'Base URL of the service, or `sandbox`: only workers of that service run the walk. Default: any worker.',
    ),
    unchecked: flag.describe('Sends misspelt event types, too. Default: they are refused.'),
    scheduled: flag.describe(
      'If the service refuses, the walk ends as `stopped` instead of pausing; the next scheduled run continues.',
    ),
  }),
);
/** Input of `syncEvents`: loads the events since the last run of the same stream. */
export type SyncEventsInput = ValueOf<typeof syncEvents>;

const backfillEvents = syncEvents.extend(
  partly({
    from: date.describe('ISO 8601; inclusive. Default: no beginning.'),
    until: date.describe('ISO 8601; inclusive. Default: one minute before the present time at the service.'),
    verify: flag.describe(
      'Reads the whole range again, compares the events with the warehouse by id and contents, and corrects differences: see `Verification`.',
    ),
  }),
);
/**
 * Input of `backfillEvents`: loads a range of time. Another run with the same input continues, or returns at once when the range is loaded.
 */
export type BackfillEventsInput = ValueOf<typeof backfillEvents>;

const filter = z.strictObject(
  partly({
    status: filled,
    name: filled.describe('Part of the name, in any case.'),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  }),
);
/** A filter of monitors: a monitor must match all fields (API reference: /monitors). */
export type MonitorFilter = ValueOf<typeof filter>;

export const decision = z.strictObject({ by: filled, why: text.optional() });
/** Who decided, and why. */
export type Decision = ValueOf<typeof decision>;

const originTo = (work: string) =>
  filled.describe(
    `Base URL of the service, or \`sandbox\`; default: the worker's. Workers of other services do not ${work}.`,
  );

/** Schedules pass this field to all workflows that they start. */
const scheduled = flag.optional();

const batchMonitors = z.strictObject({
  origin: originTo('run the batch').optional(),
  action: z.enum(monitorActions),
  ...partly({
    filter: filter.describe('Required without `ofSchedule`.'),
    schedule: filled.describe('Name of the schedule that starts the batch, for the audit.'),
    ofSchedule: filled.describe(
      'Name of a schedule, for `unpause` without a filter: unpauses what batches of this schedule have paused and nobody has changed since, by the audit in `into`.',
    ),
    limit: countFrom1
      .max(MAX_BATCH_LIMIT)
      .describe('Maximum number of monitors that one call changes, 1 to 500; default 100.'),
    into: filled.describe("Warehouse of the audit; default `out/monitors.duckdb` under the worker's directory."),
    host: warehouseHost,
    by: text.nullable().describe('The person who requests the batch, for the audit.'),
    approval: z
      .union([decision, z.enum(['wait', 'none'])])
      .describe(
        'The approval if it was given beforehand; `wait`: the batch waits for the Update `approve`. Default: `wait` for deletions, otherwise `none`.',
      ),
    approvalWithinMs: milliseconds
      .max(LONGEST_WAIT_MS)
      .describe('How long to wait for an approval, in ms; default: a day.'),
  }),
  scheduled,
});
/** Input of the `batchMonitors` workflow: plain JSON, usable from any Temporal SDK. */
export type BatchMonitorsInput = ValueOf<typeof batchMonitors>;

const exportMonitorRuns = z.strictObject(
  partly({
    origin: originTo('run the export'),
    filter: filter.describe('Default: all monitors.'),
    unchecked: flag.describe('Sends a misspelt status, too. Default: it is refused.'),
    into: filled.describe(
      "Warehouse or `sink:NAME` to load into; default `out/monitors.duckdb` under the worker's directory.",
    ),
    host: warehouseHost,
    scheduled,
  }),
);
/** Input of the `exportMonitorRuns` workflow: plain JSON, usable from any Temporal SDK. */
export type ExportMonitorRunsInput = ValueOf<typeof exportMonitorRuns>;

const syncAgentRuns = z.strictObject(
  partly({
    origin: originTo('run the sync'),
    into: filled.describe("Warehouse to load into; default `out/agent-runs.duckdb` under the worker's directory."),
    host: warehouseHost,
    scheduled,
  }),
);
/** Input of the `syncAgentRuns` workflow: plain JSON, usable from any Temporal SDK. */
export type SyncAgentRunsInput = ValueOf<typeof syncAgentRuns>;

const unchecked = flag.describe('Sends misspelt names and values, too. Default: they are refused.').optional();

/** Operations on single monitors (API reference: /monitors). */
const monitorOperations = [
  'getMonitor',
  'listMonitors',
  'updateMonitor',
  'deleteMonitor',
  'triggerMonitor',
  'listMonitorRuns',
  'getMonitorRun',
] as const;

const monitorCall = z.strictObject({
  origin: originTo('make the call').optional(),
  operation: z.enum(monitorOperations),
  input: open,
  unchecked,
});
/** Input of the `monitorCall` workflow. */
export type MonitorCall = ValueOf<typeof monitorCall>;

const createMonitor = z.strictObject({
  origin: originTo('create the monitor').optional(),
  definition: open.describe('Definition of the monitor (API reference: /monitors).'),
  unchecked,
  ...partly({
    secretFile: filled.describe(
      "File (mode 0600) for the webhook secret, which the service returns only once. Default: the worker's own secret store.",
    ),
    host: filled.describe('The machine that has the secret file, for workers on several machines.'),
  }),
});
/** Input of the `createMonitor` workflow: plain JSON, usable from any Temporal SDK. */
export type CreateMonitorInput = ValueOf<typeof createMonitor>;

/** The workflows that a schedule can run. */
const scheduledInputs = { enrichCsv, syncEvents, exportMonitorRuns, batchMonitors, syncAgentRuns };

const onSchedule = <Name extends keyof typeof scheduledInputs>(workflow: Name) =>
  z.strictObject({
    schedule: filled.describe('Name of the schedule.'),
    when: text.optional().describe('The timing as a text, for lists.'),
    // Temporal refuses longer ids, and a run that uses such an id would be retried forever.
    workflowId: filled
      .max(1000)
      .describe("Id of the job's own workflow. If a workflow with this id is running, the scheduled run is skipped."),
    workflow: z.literal(workflow),
    input: scheduledInputs[workflow],
  });
const scheduledJob = z.discriminatedUnion('workflow', [
  onSchedule('enrichCsv'),
  onSchedule('syncEvents'),
  onSchedule('exportMonitorRuns'),
  onSchedule('batchMonitors'),
  onSchedule('syncAgentRuns'),
]);
/** Input of the `scheduledJob` workflow: plain JSON, usable from any Temporal SDK. */
export type ScheduledJobInput = ValueOf<typeof scheduledJob>;
/** The work of a scheduled run: one of the workflows, under the fixed id of its job. */
export type ScheduledWork = ScheduledJobInput extends infer Input
  ? Input extends ScheduledJobInput
    ? Pick<Input, 'workflow' | 'workflowId' | 'input'>
    : never
  : never;

/** Unknown fields and types are allowed: workers of other versions share the task queue. */
const deliverAlert = z.looseObject({
  alert: z.looseObject({
    id: filled.describe('The same for every delivery of this alert, and for every attempt to note its event.'),
    type: filled,
    createdAt: filled.describe('When the event was noted, in ISO 8601.'),
    text: text.describe('The event in a few sentences, for people.'),
    data: z.looseObject({}),
  }),
  receiver: z.enum(receivers),
});

/** The public inputs of each workflow: one schema for each argument. */
export const workflowInputs = {
  enrichCsv: [enrichCsv],
  enrichRows: [enrichRowsInput],
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
  deliverAlert: [deliverAlert],
} as const satisfies { readonly [workflow: string]: readonly z.ZodType[] };
