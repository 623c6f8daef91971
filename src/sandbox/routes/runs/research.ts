import { z } from 'zod';
import { canonicalJson } from '../../../core/text/json.js';
import { checkInput, checkQuery } from '../../base/check-input.js';
import { pageOfList } from '../../base/page-of-list.js';
import { Refusal } from '../../base/refusal.js';
import { schemaProblem } from '../../pages/schema-problem.js';
import { findingsOf, type ResearchTask, taskStatus } from '../../research/research-task.js';
import { listQueryOf } from '../../routing/list-query.js';
import { jsonWork, type Route, type RouteContext } from '../../routing/route.js';

const outputSchema = z.record(z.string(), z.unknown());
export const instructionsSchema = z.string().min(1).max(4096);
export const researchListQuery = listQueryOf(200, 25, {});

const contractSchema = z.looseObject({
  input: z.looseObject({ instructions: instructionsSchema }),
  output: z.looseObject({ schema: outputSchema }).optional(),
});
const v0Schema = z.looseObject({
  instructions: instructionsSchema,
  model: z.enum(['exa-research', 'exa-research-pro']).optional(),
  output: z.looseObject({ schema: outputSchema.optional(), inferSchema: z.boolean().optional() }).optional(),
});

type Wanted = Pick<ResearchTask, 'instructions' | 'model' | 'outputSchema'>;

/** Starts a task and records the request. `answer` makes the body of the answer. */
export function startTask(
  context: RouteContext,
  input: unknown,
  wanted: Wanted,
  status: number,
  answer: (task: ResearchTask) => unknown,
) {
  const problem = wanted.outputSchema ? schemaProblem(wanted.outputSchema) : null;
  if (problem !== null) throw new Refusal(400, 'INVALID_JSON_SCHEMA', `Invalid request body: the schema: ${problem}`);
  return () => {
    const task = context.research.create(wanted);
    const units = [canonicalJson(input)];
    const purchase = { operation: 'createResearchTask', options: '', units, failed: [], micros: 0, starts: task.id };
    return jsonWork(answer(task), { status, purchase });
  };
}

/** `POST /research/tasks`: 200 with the id. */
export const createResearchTask: Route = (input, context) => {
  const body = checkInput(contractSchema, input);
  const wanted = {
    instructions: body.input.instructions,
    model: 'exa-research',
    outputSchema: body.output?.schema ?? null,
  };
  return startTask(context, input, wanted, 200, ({ id }) => ({ id }));
};

/** `POST /research/v0/tasks`: 201 with the id. */
export const createResearchTaskV0: Route = (input, context) => {
  const body = checkInput(v0Schema, input);
  const { instructions, model = 'exa-research', output } = body;
  const inferred = output?.inferSchema ? { type: 'object', properties: { summary: { type: 'string' } } } : null;
  const wanted = { instructions, model, outputSchema: output?.schema ?? inferred };
  return startTask(context, input, wanted, 201, ({ id }) => ({ id }));
};

/** `GET /research/tasks/{id}`, and the same path on v0: the record of a task. */
export const getResearchTask: Route =
  (_input, context, { params }) =>
  () =>
    jsonWork(taskRecord(context.research.get(params.id as string), context));

/** `GET /research/tasks`: newest first. */
export const listResearchTasks: Route = (_input, context, { query }) => {
  const { limit, cursor } = checkQuery(researchListQuery, query);
  return (requestId) => {
    const { data, ...page } = pageOfList(tasksAfter(context, cursor), limit, ({ id }) => id);
    return jsonWork({ requestId, data: data.map((task) => taskRecord(task, context)), ...page });
  };
};

/** The tasks after a cursor, which is the id of the last task of the previous page. Throws if there is no such task. */
export function tasksAfter({ research }: RouteContext, cursor: string | undefined): ResearchTask[] {
  const tasks = research.newestFirst();
  if (cursor === undefined) return tasks;
  const at = tasks.findIndex(({ id }) => id === cursor);
  if (at < 0) throw new Refusal(400, 'INVALID_REQUEST_QUERY', 'Invalid query: cursor: no such task');
  return tasks.slice(at + 1);
}

function taskRecord(task: ResearchTask, { research, pages }: RouteContext): Record<string, unknown> {
  const { id, instructions, outputSchema: schema } = task;
  const status = taskStatus(task, research.now);
  const record = { id, status, instructions, schema };
  if (status !== 'completed') return record;
  const { content, parsed, citations } = findingsOf(task, pages);
  return { ...record, data: parsed ?? { report: content }, citations };
}
