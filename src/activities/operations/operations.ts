import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Answer } from '../../api/answer/read-answer.js';
import { misreadText } from '../../api/checks/shape.js';
import { createAgentRunEndpoint, listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { type OperationName, type Operations, operationTable } from '../../api/operations.js';
import type { AgentRun, AgentRunRequest } from '../../api/schemas/agent-run-schemas.js';
import type { Input } from '../../api/transport.js';
import type { AnyEndpoint, Endpoint } from '../../api/wire/endpoint.js';
import { SUCCESS } from '../../core/purchase/journal.js';
import { sendOptions, sentWith } from '../../core/purchase/sent-with.js';
import { requestUnit, unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import type { CallDeps } from '../base/deps.js';
import { sendFree, thisActivity } from '../base/free-call.js';
import { redactAnswer } from '../call/landing.js';
import type { LongRunning } from '../purchase/purchase-request.js';
import { agentKind } from '../rows/agent-purchase.js';
import { runPurchase } from '../rows/run-purchase.js';
import { agentRunKind, RunFollower } from '../runs/run-follower.js';
import { noSlots, RecentRuns } from '../runs/runs.js';
import {
  buyNow,
  type CallOptions,
  failUnlessSuccess,
  lonePurchase,
  type OperationResult,
  oneStart,
  packed,
} from './buy.js';
import { createMonitor } from './create-monitor.js';
import { buyWhole, checkRequest } from './whole-request.js';

export type Fields = { readonly [field: string]: Json };
type AnyCall = Endpoint<Fields, unknown>;

/** The activity of an operation; one call is one attempt. A paid answer is bought once, in any number of attempts. */
export type Call<E> =
  E extends Endpoint<infer I, infer O> ? (input: Input<I>, call?: CallOptions) => Promise<OperationResult<O>> : never;

/** `getContents` has an activity of its own, because its units are single URLs, which other requests may share. */
type Special = 'getContents';

export type OperationActivities = { readonly [Name in Exclude<OperationName, Special>]: Call<Operations[Name]> };

/**
 * Returns one activity for each operation in the table of endpoints; an activity makes one call. Paid operations go through `purchase`, and
 * so do free operations whose every call has an effect. Other free operations wait for a turn and are sent. Results have the fields of the
 * service's answer.
 */
export function createOperationActivities(deps: CallDeps): OperationActivities {
  const names = (Object.keys(operationTable) as OperationName[]).filter((name) => name !== 'getContents');
  return Object.fromEntries(
    names.map((name) => [name, operationActivity(deps, name)]),
  ) as unknown as OperationActivities;
}

/** The activity of one operation, see {@link createOperationActivities}. */
export function operationActivity(deps: CallDeps, name: OperationName) {
  const endpoint = operationTable[name] as AnyEndpoint as unknown as AnyCall;
  if (endpoint.name === 'createMonitor')
    return (input: Fields, call: CallOptions = {}) => createMonitor(deps, endpoint, input, call);
  if (endpoint.name === 'createAgentRun')
    return (input: Fields, call?: CallOptions) => startRun(deps, input as AgentRunRequest, call);
  if (endpoint.paid || endpoint.retry === 'check')
    return (input: Fields, call?: CallOptions) => buyWhole(deps, endpoint, input, call);
  return async (input: Fields, call: CallOptions = {}) => {
    checkRequest(deps, endpoint, input, call);
    const answer = await sendFree(deps, endpoint, input, sentWith(call), { places: deps.places });
    return packFree(deps, endpoint, input, answer, call);
  };
}

/** Converts the result of a free call for Temporal: removes secrets, and replaces a large result by a reference to the journal. */
async function packFree(
  deps: CallDeps,
  endpoint: AnyCall,
  input: Fields,
  { data: answer, requestId, misread: odd }: Answer<unknown>,
  call: CallOptions,
): Promise<OperationResult<Json>> {
  const data = redactAnswer(answer, endpoint.secrets);
  const unit = canonicalJson([input, randomUUID()]);
  const key = unitKeys(deps.sha256, deps.origin, endpoint.name, {})(unit);
  const paid = { requests: [{ requestId, costDollars: 0, bought: false }], unknownOutcomes: 0 };
  const result = packed(deps, data, [key], paid, call);
  if ('landed' in result) {
    const { segment, owner } = lonePurchase();
    const outcome = { key, unit, ...SUCCESS, costMicros: 0, result: data };
    await deps.journal.recordOutcomes(owner, segment, endpoint.name, [outcome]);
  }
  return { ...result, misread: misreadText(odd) || undefined };
}

/**
 * `createAgentRun`. The run has a tag of its purchase. If the answer to a start gets lost, also with its worker, the run is searched for by its
 * tag, so that it is started once. Without a record a purchase belongs to one activity; with one, equal requests share it.
 */
async function startRun(
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
