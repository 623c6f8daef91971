import { z } from 'zod';
import { estimateResearch } from '../../core/purchase/prices.js';
import { filled } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { defineList, type PageRequest, pageOf, pageRequest } from '../schemas/page.js';
import { lacksStatus } from '../schemas/result.js';
import { type ById, byId, defineEndpoint } from '../wire/endpoint.js';

const text = z.string().nullish();
const at = z.union([z.string(), z.number()]).nullish();

/** Request of a research task. */
const researchRequest = z.looseObject({
  input: z.looseObject({ instructions: filled }),
  output: z.looseObject({ schema: outputSchema.optional() }).optional(),
  /** A name of a model, which some clients send. */
  model: z.string().optional(),
});
export type ResearchTaskRequest = z.infer<typeof researchRequest>;

const researchTask = z.looseObject({
  id: text,
  /** `pending`, `running`, `completed`, `canceled`, `failed`, or another status. */
  status: text,
  createdAt: at,
  finishedAt: at,
  instructions: text,
  schema: z.unknown().optional(),
  data: z.unknown().optional(),
  citations: z.unknown().optional(),
  error: z.unknown().optional(),
  costDollars: z.looseObject({ total: z.number().nullish() }).nullish(),
});
export type ResearchTask = z.infer<typeof researchTask>;

const createdTask = researchTask.refine(({ id }) => Boolean(id), 'an id was expected');

/** Starts a research task. */
export const createResearchTaskEndpoint = defineEndpoint<ResearchTaskRequest, ResearchTask>({
  name: 'createResearchTask',
  method: 'POST',
  path: '/research/tasks',
  paid: true,
  idempotent: false,
  retry: 'adopt',
  estimate: (_input, prices) => estimateResearch(prices),
  request: researchRequest,
  response: createdTask,
});

/** A research task, with the result once the task is completed. */
export const getResearchTaskEndpoint = defineEndpoint<ById, ResearchTask>({
  name: 'getResearchTask',
  path: '/research/tasks/{id}',
  request: byId,
  response: researchTask,
  lacks: lacksStatus,
});

const researchPage = pageOf(researchTask);

/** The research tasks of the team. */
export const listResearchTasksEndpoint = defineList<PageRequest, z.infer<typeof researchPage>>({
  name: 'listResearchTasks',
  path: '/research/tasks',
  request: pageRequest,
  response: researchPage,
});
