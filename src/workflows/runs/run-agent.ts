import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { AgentRequest, RunAgentOptions } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult } from '../../core/workflow-result-schemas.js';
import { failureOf, toWorkflowFailure } from '../shared/failures.js';
import { slicePolicy } from '../shared/policies.js';
import { publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';
import { RunView, runToEnd } from './run-to-end.js';

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
