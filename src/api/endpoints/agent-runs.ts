import { z } from 'zod';
import { estimateAgentRun } from '../../core/purchase/prices.js';
import { checkCount, checkRange, checkText, firstProblem, problem, shown } from '../checks/checks.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';
import { checkSchemaForm } from '../checks/schema-form.js';
import {
  type AgentRun,
  type AgentRunRequest,
  agentRun,
  agentRunEvent,
  agentRunRequest,
} from '../schemas/agent-run-schemas.js';
import { checkPage, type PageRequest, pageOf, pageQuery, pageRequest } from '../schemas/page.js';
import { type ById, byId, defineEndpoint } from '../wire/endpoint.js';

/** Reads of runs do not count against the rate (API reference: rate limits), but they wait during a block. */
const polling = { rateClass: 'agent', weight: 0 };
const action = { method: 'POST', rateClass: 'agent' } as const;

function checkPreviousRun(id: string | undefined, limits: ServiceLimits): LimitProblem | null {
  const rule = limits.agents.previousRunId;
  if (id === undefined || rule === null || (rule.pattern.test(id) && id.length <= rule.maxLength)) return null;
  return problem(
    'previousRunId',
    `is ${shown(id)}`,
    `it must be a run id of at most ${rule.maxLength} characters`,
    limits,
  );
}

function checkBudget({ budget, effort }: AgentRunRequest, limits: ServiceLimits): LimitProblem | null {
  const max = limits.agents.budget;
  if (!budget || max === null) return null;
  if (effort !== undefined && limits.agents.fixedEfforts.includes(effort))
    return problem('budget', `is combined with effort ${shown(effort)}`, 'efforts of a fixed price have none', limits);
  return firstProblem(
    () => checkRange('budget.maxCostDollars', budget.maxCostDollars, max.maxCostDollars, limits),
    () => checkRange('budget.maxDurationSeconds', budget.maxDurationSeconds, max.maxDurationSeconds, limits),
  );
}

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
  estimate: ({ effort, budget }, prices) => estimateAgentRun(effort, budget?.maxCostDollars, prices),
  tier: ({ effort }) => effort ?? 'auto',
  request: agentRunRequest,
  check: (input, limits) =>
    firstProblem(
      () => checkText('query', input.query, null, limits),
      () => checkSchemaForm('outputSchema', input.outputSchema, limits),
      () => checkCount('dataSources', input.dataSources, 0, limits.agents.maxDataSources, limits),
      () => checkPreviousRun(input.previousRunId, limits),
      () => checkBudget(input, limits),
    ),
  response: agentRun,
});

/** One agent run, with the output once the run is completed. */
export const getAgentRunEndpoint = defineEndpoint<ById, AgentRun>({
  name: 'getAgentRun',
  path: '/agent/runs/{id}',
  lenient: true,
  ...polling,
  request: byId,
  response: agentRun,
});

const agentRunPage = pageOf(agentRun);
export type AgentRunPage = z.infer<typeof agentRunPage>;

/** The agent runs of the team, newest first. */
export const listAgentRunsEndpoint = defineEndpoint<PageRequest, AgentRunPage>({
  name: 'listAgentRuns',
  path: '/agent/runs',
  ...polling,
  request: pageRequest,
  check: (input, limits) => checkPage('listAgentRuns', input, limits),
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
  request: byId,
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
  request: byId,
  response: agentRun,
});

const eventFilter = z.looseObject({ id: z.string(), ...pageQuery });
export type AgentRunEventFilter = z.infer<typeof eventFilter>;

const agentRunEventPage = pageOf(agentRunEvent);
export type AgentRunEventPage = z.infer<typeof agentRunEventPage>;

/** The stored events of a run. */
export const listAgentRunEventsEndpoint = defineEndpoint<AgentRunEventFilter, AgentRunEventPage>({
  name: 'listAgentRunEvents',
  path: '/agent/runs/{id}/events',
  ...polling,
  request: eventFilter,
  check: (input, limits) => checkPage('listAgentRunEvents', input, limits),
  response: agentRunEventPage,
});
