import type { Json } from '../text/json.js';
import { withoutUndefined } from '../text/without-undefined.js';
import type { EnrichCsvInput } from './job.js';

/** Input of the `runAgentRows` workflow: plain JSON, usable from any Temporal SDK. For other fields see `EnrichCsvInput`. */
export interface AgentRowsInput
  extends Pick<
    EnrichCsvInput,
    | 'input'
    | 'into'
    | 'csv'
    | 'csvDelimiter'
    | 'csvBom'
    | 'job'
    | 'format'
    | 'sql'
    | 'table'
    | 'delimiter'
    | 'encoding'
    | 'key'
    | 'freshness'
    | 'refreshAfterMs'
    | 'retryFailed'
    | 'maxCostDollars'
    | 'maxRunSeconds'
    | 'redrive'
    | 'skipRefused'
    | 'stopAtFailed'
    | 'acceptWarnings'
    | 'publish'
    | 'rowsPerRun'
    | 'origin'
    | 'host'
    | 'scheduled'
    | 'staged'
    | 'beta'
    | 'extraHeaders'
    | 'unchecked'
  > {
  /**
   * A Liquid template over the columns, such as `Find the CEO of {{name}}`. If several rows share a run, the query is a text without
   * columns.
   */
  readonly query: string;
  /** JSON Schema of a row's output, of type object: its properties become columns. */
  readonly outputSchema?: Json;
  /** Default `auto`, which is billed by usage. */
  readonly effort?: string;
  readonly systemPrompt?: string;
  readonly dataSources?: Json;
  /** Other fields of the request (API reference: /agent/runs), such as `budget` or `input`. Texts in these fields are templates, too. */
  readonly request?: { readonly [field: string]: Json };
}

/**
 * Returns the problem of fields that are set both inside and outside of `request`: only one of the two values would be sent. Null if there
 * are no such fields.
 */
export function setTwice({ request = {}, ...named }: AgentRowsInput): string | null {
  const twice = requestFields.filter((name) => Object.hasOwn(request, name) && named[name] !== undefined);
  return twice.length === 0
    ? null
    : twice.map((name) => `${name} and request.${name} are both set; set one of them.`).join(' ');
}

const requestFields = ['query', 'outputSchema', 'effort', 'systemPrompt', 'dataSources'] as const;

/** Turns the input of an agent job into the input of a row job. */
export function toEnrichInput(input: AgentRowsInput): EnrichCsvInput {
  const { query, outputSchema, effort, systemPrompt, dataSources, request = {}, ...job } = input;
  return {
    ...job,
    operation: 'agent',
    template: { ...request, query, ...withoutUndefined({ systemPrompt }) },
    // The schema is not rendered, because it may contain braces of its own.
    options: withoutUndefined({ outputSchema, effort, dataSources }),
  };
}
