import type { AgentRowsInput, EnrichCsvInput } from '../row-job-schemas.js';

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

export function toEnrichInput(input: AgentRowsInput): EnrichCsvInput {
  const { query, outputSchema, effort, systemPrompt, dataSources, request = {}, ...job } = input;
  return {
    ...job,
    operation: 'agent',
    template: { ...request, query, systemPrompt: systemPrompt ?? request.systemPrompt } as EnrichCsvInput['template'],
    // The schema is not rendered, because it may contain braces of its own.
    options: { outputSchema, effort, dataSources } as EnrichCsvInput['options'],
  };
}
