import { canonicalJson } from '../../core/text/json.js';
import type { Run } from '../agents/run.js';
import { checkRunInput } from '../agents/run-input.js';
import { runRecord } from '../agents/run-record.js';
import { checkQuery } from '../base/check-input.js';
import { pageOfList } from '../base/page-of-list.js';
import { jsonWork, type Route, type RouteContext } from '../route.js';
import { agentListQuery, wantsStream } from './agent-requests.js';
import { liveFrames } from './agent-run-stream.js';

/** `POST /agent/runs`: answers with the new run, or streams the events of the run until the run ends. */
export const createAgentRun: Route = (input, context, { headers }) => {
  const betas = Object.entries(headers).find(([name]) => name.endsWith('-beta'))?.[1];
  const body = checkRunInput(input, String(betas ?? ''));
  return () => {
    const run = context.agentRuns.create(body);
    const unit = canonicalJson(input);
    const purchase = { operation: 'createAgentRun', options: '', units: [unit], failed: [], micros: 0, starts: run.id };
    if (wantsStream(headers.accept)) return { body: liveFrames(run.id, context), purchase };
    return jsonWork(recordOf(run, context), { purchase });
  };
};

/** `GET /agent/runs`: newest first. The cursor is the id of the last run of the previous page. */
export const listAgentRuns: Route = (_input, context, { query }) => {
  const { limit, cursor } = checkQuery(agentListQuery, query);
  return () => {
    const { data, hasMore, nextCursor } = pageOfList(context.agentRuns.newestFirst(cursor), limit, ({ id }) => id);
    return jsonWork({ object: 'list', data: data.map((run) => recordOf(run, context)), hasMore, nextCursor });
  };
};

export const getAgentRun: Route =
  (_input, context, { params }) =>
  () =>
    jsonWork(recordOf(context.agentRuns.get(params.id as string), context));

export const deleteAgentRun: Route =
  (_input, context, { params }) =>
  () => {
    context.agentRuns.delete(params.id as string);
    return jsonWork({ id: params.id, object: 'agent_run.deleted', deleted: true });
  };

/** `POST /agent/runs/{id}/cancel`: cancels a run. A run that has ended is returned unchanged. */
export const cancelAgentRun: Route =
  (_input, context, { params }) =>
  () =>
    jsonWork(recordOf(context.agentRuns.cancel(params.id as string), context));

/** `POST /agent/runs/{id}/stop`: stops a run. Only for the efforts max and ultra. */
export const stopAgentRun: Route =
  (_input, context, { params }) =>
  () =>
    jsonWork(recordOf(context.agentRuns.stop(params.id as string), context));

function recordOf(run: Run, { agentRuns, pages }: RouteContext): Record<string, unknown> {
  return runRecord(run, agentRuns.now, pages);
}
