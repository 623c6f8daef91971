import {
  CancellationScope,
  defineQuery,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { SyncRunsSlice } from '../activities/operations/agent-run-sync.js';
import { type AgentRunSyncState, DEFAULT_AGENT_WAREHOUSE } from '../core/agent-run-sync.js';
import { queryNames } from '../core/rows/job-names.js';
import type { Json } from '../core/text/json.js';
import type {
  AgentRequest,
  RunAgentOptions,
  RunResearchOptions,
  SyncAgentRunsInput,
} from '../core/workflow-input-schemas.js';
import type {
  AgentRunResult,
  AgentRunSync,
  ResearchResult,
  RunProgress,
  RunSnapshot,
  RunStepResult,
} from '../core/workflow-result-schemas.js';
import { failureOf, toWorkflowFailure } from './shared/failures.js';
import { bulkPolicy, slicePolicy } from './shared/policies.js';
import { forFirst, publicInput } from './shared/public-input.js';
import { setVersioning, summarizedActivities } from './shared/versioning.js';

const syncProgress = defineQuery<AgentRunSync>(queryNames.progress);
const { syncRunSlice } = summarizedActivities(bulkPolicy, { syncRunSlice: 'load new and unfinished agent runs' });

/**
 * `syncAgentRuns`: loads all agent runs of the team into a warehouse, whichever client started them. The workflow reads the list of runs from
 * the newest to 15 minutes before its watermark, once a day two days further, and reads again each loaded run that had not ended. All calls
 * are free. Start the workflow by name with plain JSON, see `SyncAgentRunsInput`. API reference: /agent/runs.
 */
export async function syncAgentRuns(input?: SyncAgentRunsInput, ...extra: []): Promise<AgentRunSync> {
  const { into = DEFAULT_AGENT_WAREHOUSE, host, origin } = publicInput('syncAgentRuns', [input ?? {}], { extra });
  const step = { origin, host, into, mark: workflowInfo().firstExecutionRunId };
  let progress: AgentRunSync = {
    ...{ into, pages: 0, runs: 0, added: 0, changed: 0, gone: 0 },
    ...{ unfinished: 0, watermark: null },
  };
  setHandler(syncProgress, () => progress);
  try {
    // Each activity takes up to a minute, so even the first sync of a long history has a short history here.
    for (let before: AgentRunSyncState | null = null; ; ) {
      const { state, end }: SyncRunsSlice = await syncRunSlice(forFirst({ ...step, state: before }));
      before = state;
      const { pages, runs, added, changed, gone } = state;
      progress = { ...progress, pages, runs, added, changed, gone, ...end };
      setCurrentDetails(`${runs} agent runs read, ${added} new, ${changed} changed`);
      if (end !== null) return progress;
    }
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', syncAgentRuns);

const { researchRun } = summarizedActivities(slicePolicy, { researchRun: 'start and follow the task' });

/**
 * `runResearch`: executes one research task, from its start to its result, like `runAgent`. The service cannot end a task: after a cancel
 * of the workflow the task stays in progress, and a later workflow with the same request takes it over.
 *
 * Start the workflow by name with plain JSON: the request and `RunResearchOptions`. Query `progress`. API reference:
 * /research/tasks.
 */
export async function runResearch(
  request: { readonly [field: string]: Json },
  options: RunResearchOptions = {},
  ...extra: []
): Promise<ResearchResult> {
  publicInput('runResearch', [request, options], { extra });
  const step = { request, call: options ?? {}, askedAt: workflowInfo().startTime.getTime() };
  try {
    const result = await runToEnd(new RunView('Research task'), (sliceMs) => researchRun({ ...step, sliceMs }));
    // Without `until` the result is never null.
    return result as ResearchResult;
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('moves', runResearch);

const progressQuery = defineQuery<RunProgress>(queryNames.progress);

/**
 * How long an activity follows a run before it returns a snapshot, in ms. The first slice is short. Later slices are long, because each
 * adds six events to the history.
 */
const SLICES_MS = [5000, 60_000] as const;
const SLICE_MS = 15 * 60_000;

/** The state of a run, for the query and for Temporal's web UI. */
export class RunView {
  #snapshot: RunSnapshot | null = null;
  #polledAt: number | null = null;
  #phase: RunProgress['phase'] = 'running';
  readonly #label: string;

  constructor(label: string) {
    this.#label = label;
    setHandler(progressQuery, () => this.progress());
  }

  get snapshot(): RunSnapshot | null {
    return this.#snapshot;
  }

  progress(): RunProgress {
    const startedAt = this.#snapshot?.startedAt ?? null;
    return {
      ...{ runId: null, status: null, startedAt, events: null, costDollars: null, waitingFor: null },
      ...this.#snapshot,
      phase: this.#phase,
      // The age is never negative, although the clock of the service may be ahead of ours.
      ageMs: Math.max(0, Date.now() - (startedAt ?? workflowInfo().startTime.getTime())),
      polledAt: this.#polledAt,
    };
  }

  saw(snapshot: RunSnapshot): void {
    this.#snapshot = snapshot;
    this.#polledAt = Date.now();
    this.#show();
  }

  is(phase: RunProgress['phase']): void {
    this.#phase = phase;
    this.#show();
  }

  #show(): void {
    const { runId, status, events, costDollars } = this.#snapshot ?? {};
    setCurrentDetails(
      [
        `**${this.#label}** ${runId ?? ''}: ${this.#phase === 'running' ? (status ?? 'starting') : this.#phase}`,
        ...(typeof events === 'number' ? [`${events} events`] : []),
        ...(typeof costDollars === 'number' ? [`$${costDollars} so far`] : []),
      ].join('\n\n'),
    );
  }
}

/** Follows a run, activity after activity, until it has ended. Returns null if `until` passes before the run has ended. */
export async function runToEnd<R>(
  view: RunView,
  step: (sliceMs: number) => Promise<RunStepResult<R>>,
  until: (snapshot: RunSnapshot | null) => number | null = () => null,
): Promise<R | null> {
  for (let nth = 0; ; nth++) {
    const end = until(view.snapshot);
    const left = end === null ? Number.POSITIVE_INFINITY : end - Date.now();
    if (left <= 0) return null;
    const { ended, look } = await step(Math.ceil(Math.min(left, SLICES_MS[nth] ?? SLICE_MS)));
    if (look === null) {
      view.is('done');
      return ended;
    }
    view.saw(look);
  }
}

const { agentRun, endAgentRun, deleteAgentRun } = summarizedActivities(slicePolicy, {
  agentRun: 'start and follow the run',
  endAgentRun: 'end the run at the service',
  deleteAgentRun: 'delete the run at the service',
});

/** Efforts whose runs can be stopped so that their output is kept (API reference: /agent/runs). */
const stoppable = ['max', 'ultra'];

/** How long a cancelled workflow waits for the end of its run, in ms. After this time the run is left running. */
const END_MS = 12_000;

/**
 * `runAgent`: executes one agent run, from its start to its result. Equal requests are started once: a later workflow takes over the run in
 * progress, or returns the landed answer. The workflow returns a run with any final status. The workflow fails only if no run has ended.
 *
 * Start the workflow by name with plain JSON: the request, and `RunAgentOptions`. Query `progress`. A cancel of the workflow cancels the
 * run; the workflow then completes with the cost of the cancelled run. API reference: /agent/runs.
 */
export async function runAgent(
  request: AgentRequest,
  options: RunAgentOptions = {},
  ...extra: []
): Promise<AgentRunResult> {
  publicInput('runAgent', [request, options], { extra });
  const { maxDurationSeconds, deleteAfter, ...call } = options ?? {};
  const step = { request, call, askedAt: workflowInfo().startTime.getTime() };
  const most = maxDurationSeconds === undefined ? {} : { untilAgeMs: maxDurationSeconds * 1000 };
  const view = new RunView('Agent run');
  const end = async (how: 'cancel' | 'stop', within: { readonly sliceMs?: number } = {}) => {
    view.is('ending');
    const ended = await endAgentRun({ ...step, how, ...within });
    view.is('done');
    return ended;
  };
  try {
    const timeUp = (startedAt: number | null | undefined) =>
      typeof startedAt === 'number' && maxDurationSeconds !== undefined ? startedAt + maxDurationSeconds * 1000 : null;
    const result =
      (await runToEnd(
        view,
        (sliceMs) => agentRun({ ...step, ...most, sliceMs }),
        (snapshot) => timeUp(snapshot?.startedAt),
      )) ?? (await end(stoppable.includes(request.effort ?? '') ? 'stop' : 'cancel'));
    if (result === null) throw new Error('the run to end was not found');
    return await finished(result);
  } catch (error) {
    if (!isCancellation(error)) throw toWorkflowFailure(error);
    return CancellationScope.nonCancellable(async () => {
      const ended = await end('cancel', { sliceMs: END_MS });
      // Null: no run was started, or the run did not end in time.
      if (ended === null) throw error;
      return finished(ended);
    });
  }

  async function finished(result: AgentRunResult): Promise<AgentRunResult> {
    if (!deleteAfter) return result;
    try {
      await deleteAgentRun({ id: result.runId });
    } catch (error) {
      // `NotFound` means that the run is already deleted.
      if (failureOf(error).type !== 'NotFound') throw error;
    }
    return result;
  }
}

setVersioning('moves', runAgent);
