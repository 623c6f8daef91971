import { z } from 'zod';
import { checkInput, checkQuery } from '../../base/check-input.js';
import { pageOfList } from '../../base/page-of-list.js';
import { sseFrame } from '../../base/sse.js';
import { researchEvents } from '../../research/research-events.js';
import { findingsOf, type ResearchTask, taskCost, taskStatus } from '../../research/research-task.js';
import { listQueryOf } from '../../routing/list-query.js';
import { type Frames, jsonWork, type Route, type RouteContext } from '../../routing/route.js';
import { instructionsSchema, startTask, tasksAfter } from './research.js';

const schema = z.looseObject({
  instructions: instructionsSchema,
  model: z.enum(['exa-research-fast', 'exa-research', 'exa-research-pro']).optional(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
});
const flag = z.enum(['true', 'false']).optional();
const getQuery = z.looseObject({ events: flag, stream: flag });
const listQuery = listQueryOf(50, 10, {});

/** `POST /research/v1`: 201 with the record. */
export const createResearchV1: Route = (input, context) => {
  const { instructions, model = 'exa-research', outputSchema = null } = checkInput(schema, input);
  return startTask(context, input, { instructions, model, outputSchema }, 201, (task) =>
    recordOf(task, context, false),
  );
};

/** `GET /research/v1/{id}`: the record, with its `events` if requested. With `stream=true`, an event stream. */
export const getResearchV1: Route = (_input, context, { params, query }) => {
  const { events, stream } = checkQuery(getQuery, query);
  return () => {
    const task = context.research.get(params.id as string);
    if (stream === 'true') return { body: liveEvents(task, context) };
    return jsonWork(recordOf(task, context, events === 'true'));
  };
};

/** `GET /research/v1`: newest first. */
export const listResearchV1: Route = (_input, context, { query }) => {
  const { limit, cursor } = checkQuery(listQuery, query);
  return () => {
    const { data, ...page } = pageOfList(tasksAfter(context, cursor), limit, ({ id }) => id);
    return jsonWork({ data: data.map((task) => recordOf(task, context, false)), ...page });
  };
};

function liveEvents(task: ResearchTask, { research, timers, pages }: RouteContext): Frames {
  return async function* frames(gone) {
    for (const event of researchEvents(task, pages)) {
      await timers.wait(event.createdAt - research.now, gone);
      if (gone.aborted) return;
      yield sseFrame(event, { event: event.eventType });
    }
  };
}

function recordOf(task: ResearchTask, { research, pages }: RouteContext, withEvents: boolean): Record<string, unknown> {
  const { id: researchId, createdAt, endsAt, instructions, model, outputSchema } = task;
  const { now } = research;
  const status = taskStatus(task, now);
  const record = {
    researchId,
    status,
    createdAt,
    instructions,
    model,
    ...(outputSchema ? { outputSchema } : {}),
    ...(withEvents ? { events: researchEvents(task, pages).filter((event) => event.createdAt <= now) } : {}),
  };
  if (status === 'running') return record;
  const finishedAt = Math.round(endsAt);
  if (status === 'failed') return { ...record, finishedAt, error: 'The research could not be finished' };
  const { content, parsed } = findingsOf(task, pages);
  const output = { content, ...(parsed === null ? {} : { parsed }) };
  return { ...record, finishedAt, output, costDollars: taskCost(task).costDollars };
}
