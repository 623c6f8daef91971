import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { listResearchTasksEndpoint, type ResearchTask } from '../../api/endpoints/research.js';
import type { AgentRun } from '../../api/schemas/agent-run-schemas.js';
import type { PageRequest } from '../../api/schemas/page.js';
import type { SendOptions } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { type PageEnvelope, readPage } from '../../core/events/page.js';
import type { Slots } from '../../core/limiter/slots.js';
import { Serial } from '../../core/processes/serial.js';
import { unlessAborted } from '../../core/processes/wait-queue.js';
import type { Journal } from '../../core/purchase/journal.js';
import { callWithRetries, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import { POLL_TIMEOUT_MS, RunFollower, type RunKind } from './run-follower.js';
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
  readonly research: Runs<ResearchTask>;
}

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
        take: async () => undefined,
        name: async (owner, runId) => void owners.set(owner, runId),
        free: async (owner) => void owners.delete(owner),
        refused: async () => undefined,
      },
      claimed: async (id, key) => [...owners].some(([owner, runId]) => runId === id && owner !== key),
    },
  };
}

const PAGE = 100;
const MAX_PAGES = 20;
/** Number of attempts at reading a page of the list. After these attempts the search fails; the caller may search again. */
const TRIES = 5;

/** The listed runs: at most 2,000, newest first. `whole`: whether the list has all runs since the requested time. */
interface Recent<R> {
  readonly runs: readonly R[];
  readonly whole: boolean;
  /** The service's clock minus this process's clock, in ms, exact to about a second. 0 if the service does not send its time. */
  readonly clockAheadMs: number;
}

/**
 * The service's list of its latest runs. If a start gets no answer, its run is searched for in this list. Concurrent callers share one
 * read: after a crash, fifty searches read the list once.
 */
export class RecentRuns<R> {
  readonly #deps: SendDeps;
  readonly #kind: RunKind<R>;
  readonly #list: Endpoint<PageRequest, PageEnvelope<R>>;
  readonly #reads = new Serial();
  #next: { since: number; readonly read: Promise<Recent<R>> } | null = null;

  constructor(deps: SendDeps, kind: RunKind<R>, list: Endpoint<PageRequest, PageEnvelope<R>>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#list = list;
  }

  /** Returns the runs since a time (Unix ms), and perhaps earlier runs. The list is read after this call. */
  async since(since: number, signal: AbortSignal): Promise<Recent<R>> {
    signal.throwIfAborted();
    if (this.#next) this.#next.since = Math.min(this.#next.since, since);
    else {
      this.#next = { since, read: this.#reads.run(() => this.#read()) };
    }
    return unlessAborted(this.#next.read, signal);
  }

  /** Returns one run; null if the service does not return the run, whatever the reason. */
  async one(id: string, signal: AbortSignal): Promise<R | null> {
    try {
      return (await callWithRetries(this.#deps, this.#kind.one, { id }, { signal, tries: TRIES })).data;
    } catch (error) {
      if (isApiError(error)) return null;
      throw error;
    }
  }

  async #read(): Promise<Recent<R>> {
    const since = this.#next?.since ?? 0;
    this.#next = null;
    const runs: R[] = [];
    const options = { totalMs: POLL_TIMEOUT_MS, tries: TRIES };
    let [clockAheadMs, whole] = [0, true];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const input = { limit: PAGE, cursor };
      const reported = await this.#page(input, options);
      if (reported === null) return { runs, whole: false, clockAheadMs };
      clockAheadMs = reported.clockAheadMs;
      whole &&= reported.isWhole;
      runs.push(...reported.items);
      const times = reported.items.map((run) => this.#kind.createdAt(run)).filter((at) => at !== null);
      const older = times.length > 0 && Math.min(...times) < since + clockAheadMs;
      if (!reported.cursor || reported.items.length === 0 || older) return { runs, whole, clockAheadMs };
      cursor = reported.cursor;
    }
    return { runs, whole: false, clockAheadMs };
  }

  async #page(input: PageRequest, options: SendOptions & { readonly tries: number }) {
    try {
      const { data, date, misread } = await callWithRetries(this.#deps, this.#list, input, options);
      const page = readPage(data);
      // A run that cannot be read may be the one that is searched for.
      const isWhole = !misread.some(({ isLost }) => isLost);
      return page && { ...page, isWhole, clockAheadMs: date === null ? 0 : date - Date.now() };
    } catch (error) {
      // The service has no list.
      if (isApiError(error) && error.verdict.type === 'NotFound') return null;
      throw error;
    }
  }
}
