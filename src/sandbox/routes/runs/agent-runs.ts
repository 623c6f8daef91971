import { canonicalJson } from '../../../core/text/json.js';
import type { Run } from '../../agents/run.js';
import { checkRunInput } from '../../agents/run-input.js';
import { runRecord } from '../../agents/run-record.js';
import { checkQuery } from '../../base/check-input.js';
import { pageOfList } from '../../base/page-of-list.js';
import { type Desk, jsonWork, type Route } from '../../routing/route.js';
import { agentListQuery, wantsStream } from './agent-requests.js';
import { liveFrames } from './agent-run-stream.js';

/** `POST /agent/runs` (section 4.7): the run as it is at its creation, or its events until it has ended. */
export const createAgentRun: Route = (input, desk, { headers }) => {
  const betas = Object.entries(headers).find(([name]) => name.endsWith('-beta'))?.[1];
  const body = checkRunInput(input, String(betas ?? ''));
  return () => {
    const run = desk.agentRuns.create(body);
    const unit = canonicalJson(input);
    const purchase = { operation: 'createAgentRun', options: '', units: [unit], failed: [], micros: 0 };
    if (wantsStream(headers.accept)) return { body: liveFrames(run.id, desk), purchase };
    return jsonWork(recordOf(run, desk), { purchase });
  };
};

/** `GET /agent/runs`: newest first; the cursor is the id of the last run of the page before. */
export const listAgentRuns: Route = (_input, desk, { query }) => {
  const { limit, cursor } = checkQuery(agentListQuery, query);
  return () => {
    const { data, hasMore, nextCursor } = pageOfList(desk.agentRuns.newestFirst(cursor), limit, ({ id }) => id);
    return jsonWork({ object: 'list', data: data.map((run) => recordOf(run, desk)), hasMore, nextCursor });
  };
};

export const getAgentRun: Route =
  (_input, desk, { params }) =>
  () =>
    jsonWork(recordOf(desk.agentRuns.get(params.id as string), desk));

export const deleteAgentRun: Route =
  (_input, desk, { params }) =>
  () => {
    desk.agentRuns.delete(params.id as string);
    return jsonWork({ id: params.id, object: 'agent_run.deleted', deleted: true });
  };

/** `POST /agent/runs/{id}/cancel`: a run that has ended is answered as it is. */
export const cancelAgentRun: Route =
  (_input, desk, { params }) =>
  () =>
    jsonWork(recordOf(desk.agentRuns.cancel(params.id as string), desk));

/** `POST /agent/runs/{id}/stop` (public facts section 8.3): only for the efforts max and ultra. */
export const stopAgentRun: Route =
  (_input, desk, { params }) =>
  () =>
    jsonWork(recordOf(desk.agentRuns.stop(params.id as string), desk));

function recordOf(run: Run, { agentRuns, pages }: Desk): Record<string, unknown> {
  return runRecord(run, agentRuns.now, pages);
}
