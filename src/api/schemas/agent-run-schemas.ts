import { z } from 'zod';
import { efforts } from '../../core/request-values.js';
import { filled, oneOf, positive } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { grounding } from './output-schema.js';
import { lacksStatus } from './result.js';

const text = z.string().nullish();
const number = z.number().nullish();
const rows = z.array(z.looseObject({}));

/** Request of `POST /agent/runs`. Unknown fields reach the wire. */
export const agentRunRequest = z.looseObject({
  query: filled,
  systemPrompt: z.string().optional(),
  input: z.looseObject({ data: rows.optional(), exclusion: rows.optional() }).optional(),
  outputSchema: outputSchema.nullish(),
  /** Default `auto`. */
  effort: oneOf(...efforts).optional(),
  /** In dollars and seconds. */
  budget: z.looseObject({ maxCostDollars: positive.optional(), maxDurationSeconds: positive.optional() }).optional(),
  /** A completed run to continue from. */
  previousRunId: z.string().optional(),
  /** Any JSON. */
  metadata: z.unknown().optional(),
  dataSources: z.array(z.looseObject({ provider: z.string() })).optional(),
  userIdentifier: z.string().optional(),
});
export type AgentRunRequest = z.infer<typeof agentRunRequest>;

const perSource = z.record(z.string(), z.unknown()).nullish();

/** An agent run (API reference: /agent/runs). */
export const agentRun = z.looseObject({
  id: z.string(),
  object: text,
  /** `queued`, `running`, a terminal status such as `completed`, `failed` or `cancelled`, or another status. */
  status: text,
  stopReason: text,
  createdAt: text,
  completedAt: text,
  /** The request, as returned by the service. */
  request: z.looseObject({}).nullish(),
  output: z
    .looseObject({ text, structured: z.unknown().optional(), grounding: z.array(grounding).nullish() })
    .nullish(),
  /** The amounts may be fractions where a budget ended the run. */
  usage: z
    .looseObject({
      agentComputeUnits: number,
      searches: number,
      emails: number,
      phoneNumbers: number,
      dataSources: perSource,
    })
    .nullish(),
  costDollars: z
    .looseObject({
      total: number,
      agentCompute: number,
      search: number,
      emails: number,
      phoneNumbers: number,
      dataSources: perSource,
    })
    .nullish(),
  error: z.unknown().optional(),
});
export type AgentRun = z.infer<typeof agentRun>;

/** Statuses of a run in progress: those of the contract, and other usual words for them. */
const inProgress = ['queued', 'running', 'pending', 'in_progress', 'processing', 'created', 'starting'];
const ends = /^(completed|failed|cancell?ed|stopped|expired|timed_?out|timeout|error)$/;

/** Whether a status is terminal: every text except those of a run in progress, because the contract names only `completed`. */
export function isTerminal(status: string | null | undefined): boolean {
  return typeof status === 'string' && !inProgress.includes(status);
}

/** See `Endpoint.lacks`: a run has a known status, or another one with a sign of its end. */
export function lacksRunStatus(answer: unknown): ReturnType<typeof lacksStatus> {
  const { status, completedAt, stopReason, error, output } = Object(answer) as Partial<AgentRun>;
  const signs = [completedAt, stopReason, error, output?.text, output?.structured];
  if (!isTerminal(status) || ends.test(status ?? '') || signs.some((sign) => sign != null)) return lacksStatus(answer);
  return { field: 'status', message: 'expected a known status, or a sign of the end of the run' };
}

/** An event of a run, stored or streamed (API reference: /agent/runs). The fields of `data` depend on the event. */
export const agentRunEvent = z.looseObject({
  /** Sequence number: a number in a list of events, a text in a stream. */
  id: z.union([z.string(), z.number()]).nullish(),
  event: text,
  data: z.unknown().optional(),
  createdAt: z.union([z.string(), z.number()]).nullish(),
});
export type AgentRunEvent = z.infer<typeof agentRunEvent>;
