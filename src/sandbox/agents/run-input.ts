import { z } from 'zod';
import { checkInput } from '../base/check-input.js';
import { Refusal } from '../base/refusal.js';
import { schemaProblem } from '../pages/schema-problem.js';

const rows = z.array(z.record(z.string(), z.unknown())).optional();

const schema = z.looseObject({
  query: z.string().min(1),
  systemPrompt: z.string().optional(),
  input: z.looseObject({ data: rows, exclusion: rows }).optional(),
  outputSchema: z.record(z.string(), z.unknown()).nullable().optional(),
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'auto', 'max', 'ultra']).optional(),
  budget: z
    .looseObject({
      maxCostDollars: z.number().min(1).max(100).optional(),
      maxDurationSeconds: z.number().min(300).max(10_800).optional(),
    })
    .optional(),
  previousRunId: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9_.:-]+$/, 'not an id')
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  dataSources: z
    .array(z.looseObject({ provider: z.string().min(1) }))
    .max(5)
    .optional(),
});

/** The body of `POST /agent/runs`. */
export type RunInput = z.infer<typeof schema>;

/** Whether the price of an effort depends on usage. Only such efforts take a budget. */
export function isMetered(effort: string): boolean {
  return effort === 'auto' || effort === 'max' || effort === 'ultra';
}

/** The token that `effort: max` needs in the beta header. */
const MAX_EFFORT_TOKEN = 'agent-max-effort';

/** Checks the body of a create request. `betas`: value of the beta header. Throws a {@link Refusal} with the mistake. */
export function checkRunInput(input: unknown, betas: string): RunInput {
  const body = checkInput(schema, input);
  const effort = body.effort ?? 'auto';
  if (effort === 'max' && !betas.includes(MAX_EFFORT_TOKEN)) {
    throw invalid('effort: max needs its token in the beta header');
  }
  if (body.budget && !isMetered(effort)) throw invalid(`budget: not with effort ${effort}`);
  if (body.budget?.maxDurationSeconds !== undefined && effort !== 'ultra') {
    throw invalid('budget.maxDurationSeconds: only with effort ultra');
  }
  const problem = body.outputSchema ? schemaProblem(body.outputSchema) : null;
  if (problem !== null) throw invalid(`outputSchema: ${problem}`, 'INVALID_OUTPUT_SCHEMA');
  const odd = body.dataSources?.find(({ provider }) => !/^[a-z][a-z0-9_]*$/.test(provider));
  if (odd) throw invalid(`dataSources: no provider ${odd.provider}`, 'INVALID_DATA_SOURCE');
  return body;
}

function invalid(why: string, code = 'INVALID_REQUEST'): Refusal {
  return new Refusal(400, code, `Invalid request body: ${why}`);
}
