import { z } from 'zod';
import { estimateAgentRun } from '../../core/purchase/prices.js';
import {
  type AgentRun,
  type AgentRunRequest,
  agentRun,
  agentRunEvent,
  agentRunRequest,
  lacksRunStatus,
} from '../schemas/agent-run-schemas.js';
import { defineList, type PageRequest, pageOf, pageQuery, pageRequest } from '../schemas/page.js';
import { type ById, byId, defineEndpoint, ofRecord } from '../wire/endpoint.js';

/** Reads of runs do not count against the rate (API reference: rate limits), but they wait during a block. */
const polling = { rateClass: 'agent', weight: 0 };
const action = { method: 'POST', rateClass: 'agent' } as const;

/** Starts an agent run and returns the run at once, in its first status. A start takes two units of the rate. */
export const createAgentRunEndpoint = defineEndpoint<AgentRunRequest, AgentRun>({
  name: 'createAgentRun',
  method: 'POST',
  path: '/agent/runs',
  paid: true,
  idempotent: false,
  creates: true,
  weight: 2,
  rateClass: 'agent',
  retry: 'adopt',
  estimate: ({ effort, budget }, prices) =>
    estimateAgentRun(effort ?? undefined, budget?.maxCostDollars ?? undefined, prices),
  tier: ({ effort }) => effort ?? 'auto',
  request: agentRunRequest,
  beta: ({ effort }) => (effort === 'max' ? ['agent-max-effort-2026-07-27'] : []),
  response: agentRun,
});

/** One agent run, with the output once the run is completed. */
export const getAgentRunEndpoint = defineEndpoint<ById, AgentRun>({
  name: 'getAgentRun',
  path: '/agent/runs/{id}',
  ...polling,
  ...ofRecord,
  response: agentRun,
  lacks: lacksRunStatus,
});

const agentRunPage = pageOf(agentRun);
export type AgentRunPage = z.infer<typeof agentRunPage>;

/** The agent runs of the team, newest first. */
export const listAgentRunsEndpoint = defineList<PageRequest, AgentRunPage>({
  name: 'listAgentRuns',
  path: '/agent/runs',
  ...polling,
  request: pageRequest,
  response: agentRunPage,
});

const deletedRun = z.looseObject({
  id: z.string().nullish(),
  object: z.string().nullish(),
  deleted: z.boolean().nullish(),
});

/** Deletes a stored run. */
export const deleteAgentRunEndpoint = defineEndpoint<ById, z.infer<typeof deletedRun>>({
  name: 'deleteAgentRun',
  method: 'DELETE',
  path: '/agent/runs/{id}',
  rateClass: 'agent',
  request: byId,
  response: deletedRun,
});

/** Cancels a queued or running run: the output is lost, the usage so far is billed. An ended run is not changed. */
export const cancelAgentRunEndpoint = defineEndpoint<ById, AgentRun>({
  name: 'cancelAgentRun',
  ...action,
  path: '/agent/runs/{id}/cancel',
  ...ofRecord,
  response: agentRun,
});

/**
 * Ends a run early and keeps the output of the run. Only the live service has this operation, and only for the efforts `max` and
 * `ultra`.
 */
export const stopAgentRunEndpoint = defineEndpoint<ById, AgentRun>({
  name: 'stopAgentRun',
  ...action,
  path: '/agent/runs/{id}/stop',
  ...ofRecord,
  response: agentRun,
});

const eventFilter = z.looseObject({ id: z.string(), ...pageQuery });
export type AgentRunEventFilter = z.infer<typeof eventFilter>;

const agentRunEventPage = pageOf(agentRunEvent);
export type AgentRunEventPage = z.infer<typeof agentRunEventPage>;

/** The stored events of a run. */
export const listAgentRunEventsEndpoint = defineList<AgentRunEventFilter, AgentRunEventPage>({
  name: 'listAgentRunEvents',
  path: '/agent/runs/{id}/events',
  ...polling,
  request: eventFilter,
  response: agentRunEventPage,
});
