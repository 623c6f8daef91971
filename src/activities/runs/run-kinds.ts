import { getAgentRunEndpoint, listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { getResearchTaskEndpoint, type ResearchTask } from '../../api/endpoints/research.js';
import { type AgentRun, isTerminal } from '../../api/schemas/agent-run-schemas.js';
import type { RunKind } from './run-follower.js';

/** Agent runs. A run with any status except `queued` and `running` has ended. */
export const agentRunKind: RunKind<AgentRun> = {
  one: getAgentRunEndpoint,
  list: listAgentRunsEndpoint,
  idOf: ({ id }) => id,
  ended: ({ status }) => isTerminal(status),
  createdAt: ({ createdAt }) => timeOf(createdAt),
};

const researchInProgress = new Set(['pending', 'in_progress', 'queued', 'running']);

export const researchKind: RunKind<ResearchTask> = {
  one: getResearchTaskEndpoint,
  // The list is not used for polls of tasks, because a read of the list counts against the rate.
  list: null,
  idOf: ({ id }) => id ?? null,
  // A task without a status has ended if it has a result or an end time.
  ended: ({ status, data, finishedAt }) => (status ? !researchInProgress.has(status) : Boolean(data ?? finishedAt)),
  createdAt: ({ createdAt }) => timeOf(createdAt),
};

function timeOf(time: string | number | null | undefined): number | null {
  const at = typeof time === 'number' ? time : Date.parse(time ?? '');
  return Number.isFinite(at) ? at : null;
}
