import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { listResearchTasksEndpoint } from '../../api/endpoints/research.js';
import type { Slots } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { SendDeps } from '../call/call-in-turn.js';
import { RunFollower } from './run-follower.js';
import { agentRunKind, researchKind } from './run-kinds.js';
import { noSlots, RecentRuns, type WorkerRuns } from './runs.js';
import { SlotKeeper } from './slot-keeper.js';

export interface RunsDeps extends SendDeps {
  readonly journal: Journal;
  /** The team's slots for agent runs. */
  readonly slots: Slots;
}

export function createRuns(deps: RunsDeps): WorkerRuns {
  // The service has no slots for research tasks. The owners of tasks are kept, so that no two purchases take the same task.
  const owners = new Map<string, string>();
  return {
    agent: {
      follower: new RunFollower(deps, agentRunKind),
      recent: new RecentRuns(deps, agentRunKind, listAgentRunsEndpoint),
      slots: new SlotKeeper(deps, agentRunKind),
      claimed: async (id, key) => (await deps.slots.owners()).some(({ owner, runId }) => runId === id && owner !== key),
    },
    research: {
      follower: new RunFollower(deps, researchKind),
      recent: new RecentRuns(deps, researchKind, listResearchTasksEndpoint),
      slots: {
        ...noSlots,
        name: async (owner, runId) => void owners.set(owner, runId),
        free: async (owner) => void owners.delete(owner),
      },
      claimed: async (id, key) => [...owners].some(([owner, runId]) => runId === id && owner !== key),
    },
  };
}
