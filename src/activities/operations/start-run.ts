import { Context } from '@temporalio/activity';
import { createAgentRunEndpoint, listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import type { AgentRun, AgentRunRequest } from '../../api/schemas/agent-run-schemas.js';
import { SUCCESS } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { requestUnit, unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import type { CallDeps } from '../base/deps.js';
import { thisActivity } from '../base/wait-for-turn.js';
import type { LongRunning } from '../purchase/purchase-request.js';
import { agentKind } from '../rows/agent-purchase.js';
import { runPurchase } from '../rows/run-purchase.js';
import { RunFollower } from '../runs/run-follower.js';
import { agentRunKind } from '../runs/run-kinds.js';
import { noSlots, RecentRuns } from '../runs/runs.js';
import { buyNow, type CallOptions, failUnlessSuccess, type OperationResult, oneStart } from './buy.js';
import { packed } from './packed.js';
import { checkRequest } from './whole-request.js';

/**
 * `createAgentRun`. The run has a tag of its purchase. If the answer to a start gets lost, also with its worker, the run is searched for by its
 * tag, so that it is started once. Without a record a purchase belongs to one activity; with one, equal requests share it.
 */
export async function startRun(
  deps: CallDeps,
  input: AgentRunRequest,
  call: CallOptions = {},
): Promise<OperationResult<AgentRun>> {
  checkRequest(deps, createAgentRunEndpoint, input, call);
  const wire = sendOptions(call);
  const unit = canonicalJson(input);
  const { name } = createAgentRunEndpoint;
  const key = deps.alone
    ? unitKeys(deps.sha256, deps.origin, name, [Context.current().info.namespace, ...thisActivity()])(unit)
    : unitKeys(deps.sha256, deps.origin, name, wire)(requestUnit(input as Parameters<typeof requestUnit>[0]));
  const recent = new RecentRuns(deps, agentRunKind, listAgentRunsEndpoint);
  // A single start takes no slot of the jobs: the service refuses a start that has none.
  const runs = { recent, slots: noSlots, follower: new RunFollower(deps, agentRunKind), claimed: async () => true };
  const kind: typeof agentKind = {
    ...agentKind,
    operation: name,
    match: (run, request, tag) => (agentKind.match(run, request, tag) === 'tag' ? 'tag' : null),
  };
  const wanted = {
    ...oneStart(call),
    units: [{ key, unit }],
    request: () => input,
    refused: 'throw' as const,
    wire,
  };
  const purchaseRequest = runPurchase(deps, runs, kind, wanted);
  let started: AgentRun | null = null;
  const longRunning: LongRunning = {
    ...(purchaseRequest.longRunning as LongRunning),
    bound: () => null,
    async start(_unit, { tag }, signal) {
      const tagged = kind.tagged(input, tag);
      const answer = await deps.transport.send(createAgentRunEndpoint, tagged, { ...wire, signal });
      started = answer.data;
      return { run: started.id, requestId: answer.requestId, queued: answer.queued };
    },
    async follow(_unit, { run: id, requestId }, _startedAt, signal) {
      const run = started ?? (await recent.one(id, signal)) ?? { id };
      return { requestId, costMicros: null, units: [{ key, unit, ...SUCCESS, result: run as Json }] };
    },
  };
  const { records, ...paid } = await buyNow(deps, { ...purchaseRequest, longRunning });
  const { result } = failUnlessSuccess(records[0], { isAlone: Boolean(deps.alone) });
  return packed(deps, result as unknown as AgentRun, [key], paid, call);
}
