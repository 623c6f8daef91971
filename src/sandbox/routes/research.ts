import { z } from 'zod';
import { findingsOf, type ResearchTask, taskStatus } from '../agents/research-tasks.js';
import { checkInput, checkQuery, listQueryOf, pageOfList, Refusal } from '../base/refusal.js';
import { requestPurchase } from '../ledger/log-file.js';
import { schemaProblem } from '../pages/schema-value.js';
import { jsonWork, plainRoute, type Route, type RouteContext, type Routes } from '../route.js';

const listQuery = listQueryOf(200, 25, {});
const schema = z.looseObject({
  input: z.looseObject({ instructions: z.string().min(1).max(4096) }),
  output: z.looseObject({ schema: z.record(z.string(), z.unknown()) }).optional(),
});

/** `POST /research/tasks`: 200 with the id. */
const createResearchTask: Route = (input, context) => {
  const body = checkInput(schema, input);
  const outputSchema = body.output?.schema ?? null;
  const problem = outputSchema ? schemaProblem(outputSchema) : null;
  if (problem !== null) throw new Refusal(400, 'INVALID_JSON_SCHEMA', `Invalid request body: the schema: ${problem}`);
  return () => {
    const { id } = context.research.create({ instructions: body.input.instructions, outputSchema });
    return jsonWork({ id }, { purchase: requestPurchase('createResearchTask', input, 0, id) });
  };
};

/** `GET /research/tasks`: newest first. */
const listResearchTasks: Route = (_input, context, { query }) => {
  const { limit, cursor } = checkQuery(listQuery, query);
  return (requestId) => {
    const { data, ...page } = pageOfList(tasksAfter(context, cursor), limit, ({ id }) => id);
    return jsonWork({ requestId, data: data.map((task) => taskRecord(task, context)), ...page });
  };
};

/** The tasks after a cursor, which is the id of the last task of the previous page. Throws if there is no such task. */
function tasksAfter({ research }: RouteContext, cursor: string | undefined): ResearchTask[] {
  const tasks = research.newestFirst();
  if (cursor === undefined) return tasks;
  const at = tasks.findIndex(({ id }) => id === cursor);
  if (at < 0) throw new Refusal(400, 'INVALID_REQUEST_QUERY', 'Invalid query: cursor: no such task');
  return tasks.slice(at + 1);
}

function taskRecord(task: ResearchTask, { now, options }: RouteContext): Record<string, unknown> {
  const { id, instructions, outputSchema: schema } = task;
  const status = taskStatus(task, now());
  const record = { id, status, instructions, schema };
  if (status !== 'completed') return record;
  return { ...record, ...findingsOf(task, options) };
}

export const researchRoutes: Routes = {
  'POST /research/tasks': { route: createResearchTask },
  'GET /research/tasks': { route: listResearchTasks },
  'GET /research/tasks/:id': {
    route: plainRoute((context, { id }) => taskRecord(context.research.get(id), context)),
  },
};
