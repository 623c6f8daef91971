import { z } from 'zod';
import { estimateResearch } from '../../core/purchase/prices.js';
import { filled, oneOf } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { defineList, type PageRequest, pageOf, pageRequest } from '../schemas/page.js';
import { lacksStatus } from '../schemas/result.js';
import { type ById, byId, defineEndpoint } from '../wire/endpoint.js';

const text = z.string().nullish();
const at = z.union([z.string(), z.number()]).nullish();

/**
 * Request of a research task: `input` and `output` in the contract (API reference: /research/tasks), `instructions` and `output` in
 * variant `v0`, `instructions` and `outputSchema` in variant `v1` (API reference: /research).
 */
const shape = z.looseObject({
  input: z.looseObject({ instructions: filled }).optional(),
  output: z.looseObject({ schema: outputSchema.optional(), inferSchema: z.boolean().optional() }).optional(),
  instructions: filled.optional(),
  model: oneOf('exa-research-fast', 'exa-research', 'exa-research-pro').optional(),
  outputSchema: outputSchema.optional(),
});
export type ResearchTaskRequest = z.infer<typeof shape>;

const researchRequest = shape.superRefine(({ input, instructions }, context) => {
  if (!input && instructions === undefined)
    context.addIssue({ code: 'custom', path: ['input'], message: 'is missing; input.instructions is required' });
});

const output = z.union([
  z.string(),
  z.looseObject({ content: z.unknown().optional(), parsed: z.unknown().optional() }),
]);

const researchTask = z.looseObject({
  /** Id of the task; `researchId` in variant `v1`. */
  id: text,
  researchId: text,
  /** `pending`, `running`, `completed`, `canceled`, `failed`, or another status. */
  status: text,
  /** Unix ms in variant `v1`. */
  createdAt: at,
  finishedAt: at,
  instructions: text,
  model: text,
  schema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  data: z.unknown().optional(),
  output: output.nullish(),
  citations: z.unknown().optional(),
  events: z.array(z.unknown()).nullish(),
  error: z.unknown().optional(),
  costDollars: z
    .looseObject({
      total: z.number().nullish(),
      numSearches: z.number().nullish(),
      numPages: z.number().nullish(),
      reasoningTokens: z.number().nullish(),
    })
    .nullish(),
});
export type ResearchTask = z.infer<typeof researchTask>;

const createdTask = researchTask.refine(({ id, researchId }) => Boolean(id ?? researchId), 'an id was expected');

/** Returns the id of a task in any variant. */
export function researchIdOf(task: ResearchTask): string | null {
  return task.id ?? task.researchId ?? null;
}

/** Starts a research task. */
export const createResearchTaskEndpoint = defineEndpoint<ResearchTaskRequest, ResearchTask>({
  name: 'createResearchTask',
  method: 'POST',
  path: '/research/tasks',
  paid: true,
  idempotent: false,
  retry: 'adopt',
  estimate: (_input, prices) => estimateResearch(prices),
  tier: ({ model }) => model ?? '',
  request: researchRequest,
  response: createdTask,
  variants: {
    v0: { path: '/research/v0/tasks' },
    v1: { path: '/research/v1' },
  },
});

/** A research task, with the result once the task is completed. */
export const getResearchTaskEndpoint = defineEndpoint<ById, ResearchTask>({
  name: 'getResearchTask',
  path: '/research/tasks/{id}',
  request: byId,
  response: researchTask,
  lacks: lacksStatus,
  variants: {
    v0: { path: '/research/v0/tasks/{id}' },
    v1: { path: '/research/v1/{id}' },
  },
});

const researchPage = pageOf(researchTask);

/** The research tasks of the team. */
export const listResearchTasksEndpoint = defineList<PageRequest, z.infer<typeof researchPage>>({
  name: 'listResearchTasks',
  path: '/research/tasks',
  request: pageRequest,
  response: researchPage,
  variants: {
    v0: { path: '/research/v0/tasks' },
    v1: { path: '/research/v1' },
  },
});
