import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { listResearchTasksEndpoint, type ResearchTask } from '../../api/endpoints/research.js';
import type { AgentRun } from '../../api/schemas/agent-run-schemas.js';
import type { PageRequest } from '../../api/schemas/page.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import type { PageEnvelope } from '../../core/events/walk.js';
import type { Slots } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { SendDeps } from '../call/call-in-turn.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import { RecentRuns } from './recent-runs.js';
import { RunFollower, type RunKind } from './run-follower.js';
import { agentRunKind, researchKind } from './run-kinds.js';
import { SlotKeeper } from './slot-keeper.js';

/** The state that all purchases of one kind of run share in a worker process. */
export interface Runs<R> {
  readonly follower: RunFollower<R>;
  readonly recent: RecentRuns<R>;
  readonly slots: RunSlots;
  /** Whether another purchase owns this run. */
  claimed(id: string, key: string): Promise<boolean>;
}

/** The runs of a worker process, by kind. */
export interface WorkerRuns {
  readonly agent: Runs<AgentRun>;
  /** `variant`: the variant of the operations; absent: the contract's variant. */
  research(variant?: string): Runs<ResearchTask>;
}

export interface RunsDeps extends SendDeps {
  readonly journal: Journal;
  /** The team's slots for agent runs. */
  readonly slots: Slots;
  /** This process's slots for research tasks. */
  readonly researchSlots: Slots;
}

export function createRuns({ researchSlots, ...deps }: RunsDeps): WorkerRuns {
  const variants = new Map<string | undefined, Runs<ResearchTask>>();
  return {
    agent: runsOf(deps, agentRunKind, listAgentRunsEndpoint),
    research(variant) {
      const made =
        variants.get(variant) ??
        runsOf({ ...deps, slots: researchSlots }, researchKind(variant), listResearchTasksEndpoint);
      variants.set(variant, made);
      return made;
    },
  };
}

function runsOf<R>(
  deps: Omit<RunsDeps, 'researchSlots'>,
  kind: RunKind<R>,
  list: Endpoint<PageRequest, PageEnvelope<R>>,
): Runs<R> {
  return {
    follower: new RunFollower(deps, kind),
    recent: new RecentRuns(deps, kind, list),
    slots: new SlotKeeper(deps, kind),
    claimed: async (id, key) => (await deps.slots.owners()).some(({ owner, runId }) => runId === id && owner !== key),
  };
}
