import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { getAgentRunEndpoint, listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import type { AgentRun } from '../../api/schemas/agent-run-schemas.js';
import type { AgentRunMarks, AgentRunStore, AgentRunSyncState, SyncCounts } from '../../core/agent-run-sync.js';
import { next, startWalk, WalkError } from '../../core/events/walk.js';
import { OVERLAP_MS, planSync } from '../../core/events/walk-window.js';
import type { RawRecord } from '../../core/monitors/monitor-warehouse.js';
import type { AgentRunSync } from '../../core/workflow-result-schemas.js';
import { SLICE_MS } from '../base/cancellation.js';
import type { ActivityDeps } from '../base/deps.js';
import { sendFreeWithRetries, sendUnlessGone } from '../base/free-call.js';
import { type First, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { mapConcurrent } from '../call/map-concurrent.js';

/** Input of each slice of a sync. */
export interface SyncRunsStep {
  /** Base URL of the service, or `sandbox`. */
  readonly origin?: string;
  readonly into: string;
  readonly host?: string;
  readonly mark: string;
  /** The state after the slice before; null for the first slice. */
  readonly state: AgentRunSyncState | null;
}

export interface SyncRunsSlice {
  readonly state: AgentRunSyncState;
  /** Set once the sync is complete. */
  readonly end: Pick<AgentRunSync, 'unfinished' | 'watermark'> | null;
}

/** Number of runs in a page: the service's maximum. */
const PAGE = 100;
/** Number of runs that are read alone at the same time. */
const WIDTH = 5;
/** How often a list is begun again. */
const MOST_RESTARTS = 3;

export function createAgentRunSyncActivities(deps: ActivityDeps) {
  return {
    /**
     * `syncRunSlice`: for about a minute, loads the pages of the list of runs, the newest first, down to the range before the watermark. Then
     * reads the loaded runs again that had not ended.
     */
    async syncRunSlice(step: First<SyncRunsStep>): Promise<SyncRunsSlice> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, step);
        const store = await deps.agentRuns.warehouse(step);
        return new Slice(deps, store, step.mark).run(step.state).catch((error: unknown) => {
          // A further attempt would read the same pages.
          if (error instanceof WalkError) throw ApplicationFailure.nonRetryable(error.message, error.name);
          throw error;
        });
      });
    },
  };
}

class Slice {
  readonly #until = performance.now() + SLICE_MS;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly store: AgentRunStore,
    private readonly mark: string,
  ) {}

  async run(before: AgentRunSyncState | null): Promise<SyncRunsSlice> {
    const { origin } = this.deps;
    const marks = await this.store.marks(origin);
    let state = before ?? begin();
    while (!state.walk.done) {
      if (this.#isOver()) return { state, end: null };
      state = await this.#page(state, marks);
    }
    for (let ids: readonly string[]; ; ) {
      if (this.#isOver()) return { state, end: null };
      ids = await this.store.unfinished(origin, this.mark, PAGE);
      if (ids.length === 0) break;
      state = await this.#again(state, ids);
    }
    const { to: watermark, sweep } = state.span as NonNullable<AgentRunSyncState['span']>;
    const unfinished = await this.store.end(origin, { watermark, sweptAt: sweep ? watermark : marks.sweptAt });
    return { state, end: { unfinished, watermark } };
  }

  #isOver(): boolean {
    Context.current().cancellationSignal.throwIfAborted();
    return performance.now() > this.#until;
  }

  /** Loads the next page of the list. */
  async #page(state: AgentRunSyncState, marks: AgentRunMarks): Promise<AgentRunSyncState> {
    const { cursor } = state.walk;
    try {
      const input = { limit: PAGE, cursor: cursor ?? undefined };
      const { data, date } = await sendFreeWithRetries(this.deps, listAgentRunsEndpoint, input);
      // The range is of the service's clock, because the times of runs are.
      const span = state.span ?? spanOf(marks, date ?? Date.now());
      const { items, state: walk } = next<AgentRun>(state.walk, data);
      const counts = await this.#load(items);
      const times = items.map(({ createdAt }) => Date.parse(createdAt ?? '')).filter((at) => !Number.isNaN(at));
      const { from } = span;
      const isBefore = from !== null && times.some((at) => at < from);
      const done = walk.done || isBefore;
      return { ...state, ...sum(state, counts), span, pages: state.pages + 1, walk: { ...walk, done } };
    } catch (error) {
      if (!isLostCursor(error, cursor) || state.restarts >= MOST_RESTARTS) throw error;
      return { ...state, walk: startWalk(), restarts: state.restarts + 1 };
    }
  }

  /** Reads runs alone that had not ended, and records those that the service no longer returns. */
  async #again(state: AgentRunSyncState, ids: readonly string[]): Promise<AgentRunSyncState> {
    const runs: AgentRun[] = [];
    const gone: string[] = [];
    await mapConcurrent(ids, WIDTH, async (id) => {
      const run = await sendUnlessGone(this.deps, getAgentRunEndpoint, { id });
      if (run === null) gone.push(id);
      else runs.push(run);
    });
    const counts = await this.#load(runs);
    if (gone.length > 0) await this.store.markGone(this.deps.origin, this.mark, gone);
    return { ...state, ...sum(state, counts), gone: state.gone + gone.length };
  }

  async #load(runs: readonly AgentRun[]): Promise<Pick<SyncCounts, 'runs' | 'added' | 'changed'>> {
    if (runs.length === 0) return { runs: 0, added: 0, changed: 0 };
    const loaded = await this.store.load(this.deps.origin, this.mark, runs as unknown as readonly RawRecord[]);
    return { runs: runs.length, ...loaded };
  }
}

function begin(): AgentRunSyncState {
  return { walk: startWalk(), span: null, restarts: 0, pages: 0, runs: 0, added: 0, changed: 0, gone: 0 };
}

/** The range of a sync. Right after another sync it ends at the watermark. */
function spanOf(marks: AgentRunMarks, serviceNow: number): NonNullable<AgentRunSyncState['span']> {
  const planned = planSync(marks, serviceNow);
  if (planned !== null) return planned;
  const to = marks.watermark ?? serviceNow;
  return { from: to - OVERLAP_MS, to, sweep: false };
}

function sum(state: SyncCounts, more: Pick<SyncCounts, 'runs' | 'added' | 'changed'>) {
  return {
    runs: state.runs + more.runs,
    added: state.added + more.added,
    changed: state.changed + more.changed,
  };
}

/** Whether the service no longer accepts a cursor, or repeats one because the list has shifted: its run was deleted. */
function isLostCursor(error: unknown, cursor: string | null): boolean {
  if (error instanceof WalkError) return error.problem === 'repeated-cursor' || error.problem === 'repeated-page';
  return cursor !== null && (isType(error, 'NotFound') || isType(error, 'InvalidRequest'));
}

const isType = (error: unknown, type: string): boolean => error instanceof ApplicationFailure && error.type === type;
