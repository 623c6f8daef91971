import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../../activities/index.js';
import {
  APPROVAL_WITHIN_MS,
  afterCall,
  type BatchMonitorsInput,
  type BatchPhase,
  type BatchProgress,
  batchProblem,
  DEFAULT_BATCH_LIMIT,
  type Decision,
  limitOfCall,
} from '../../core/monitors/monitor-batch.js';
import type { BatchEffect, BatchSummary } from '../../core/monitors/monitor-effect.js';
import { filterText } from '../../core/monitors/monitor-filter.js';
import { DEFAULT_MONITOR_WAREHOUSE, monitorUpdates } from '../../core/monitors/monitor-names.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { jobOfWorkflow, queryNames } from '../../core/rows/job.js';
import { messageOf, toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy, slicePolicy } from '../shared/policies.js';
import { publicInput } from '../shared/public-input.js';
import { withoutUndefined } from '../shared/without-undefined.js';

const progressQuery = defineQuery<BatchProgress>(queryNames.progress);
const approveUpdate = defineUpdate<BatchProgress, [Decision]>(monitorUpdates.approve);
const rejectUpdate = defineUpdate<BatchProgress, [Decision]>(monitorUpdates.reject);

const { planMonitorBatch, decideMonitorBatch, finishMonitorBatch } = proxyActivities<Activities>(bulkPolicy);
const { affectMonitors } = proxyActivities<Activities>(slicePolicy);

/** Everything of a batch that outlives a continue-as-new: counts, never ids. */
export interface BatchState {
  readonly version: 1;
  readonly progress: BatchProgress;
  /** Answered calls in a row that affected nothing new. */
  readonly idle: number;
}

/**
 * `batchMonitors`: pauses, unpauses or deletes the monitors that match (interface section 4.6): plan, approval where one is
 * wanted, calls until there is no more, and the effect by listing again. Every monitor is in the warehouse's audit.
 *
 * Start it by name with plain JSON, see `BatchMonitorsInput`. Updates `approve` and `reject` say who and why; query `progress`.
 * Fails with `NoProgress` where calls affect nothing new. The second argument is its own, for continuing as new.
 */
export async function batchMonitors(input: BatchMonitorsInput, carried?: BatchState): Promise<BatchSummary> {
  publicInput('batchMonitors', [input], { carried, also: batchProblem });
  const { action, filter, limit = DEFAULT_BATCH_LIMIT, into = DEFAULT_MONITOR_WAREHOUSE, host, by, origin } = input;
  const { firstExecutionRunId: run, workflowId } = workflowInfo();
  const job = jobOfWorkflow(workflowId);
  const step = { ...withoutUndefined({ origin, host }), job, run, action, filter, limit, into };

  let idle = carried?.idle ?? 0;
  let progress: BatchProgress = carried?.progress ?? {
    ...{ phase: 'planning', job, action, filter, limit, plan: null, decision: null, approveUntil: null },
    ...{ calls: 0, lost: 0, affected: 0, message: null },
  };
  const set = (changes: Partial<BatchProgress>): void => {
    progress = { ...progress, ...changes };
    setCurrentDetails(detailsText(progress));
  };
  const decide = (decision: Decision, approved: boolean): BatchProgress => {
    const { by: who, why } = decision;
    set({ decision: { by: who, ...(why ? { why } : {}), approved, at: Date.now() } });
    return progress;
  };
  const validator = (decision: Decision | undefined): void => {
    if (typeof decision?.by !== 'string' || decision.by === '') throw new Error('say who decides (by)');
    if (progress.phase !== 'waiting') throw new Error(`nothing waits for a decision: the batch is ${progress.phase}`);
    if (progress.decision) throw new Error(`${progress.decision.by} has decided already`);
  };
  setHandler(progressQuery, () => progress);
  setHandler(approveUpdate, (decision) => decide(decision, true), { validator });
  setHandler(rejectUpdate, (decision) => decide(decision, false), { validator });

  try {
    if (!carried) {
      set({ plan: await planMonitorBatch({ ...step, by: by ?? null }) });
      if (!(await approved())) return await end(progress.decision ? 'rejected' : 'expired');
      set({ phase: 'running' });
    }
    return await affectAll();
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const phase = isCancellation(error) ? 'cancelled' : 'failed';
    set({ phase, message: messageOf(error) });
    // The audit says how far it came, also where the warehouse was what failed.
    await CancellationScope.nonCancellable(() => finishMonitorBatch({ ...step, phase })).catch(() => null);
    throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
  }

  /** Whether it may go on: approved before, or by an Update in time. */
  async function approved(): Promise<boolean> {
    const { approval = action === 'delete' ? 'wait' : 'none', approvalWithinMs = APPROVAL_WITHIN_MS } = input;
    const isWanted = approval === 'wait' && (progress.plan?.planned ?? 0) > 0;
    if (isWanted) {
      set({ phase: 'waiting', approveUntil: Date.now() + approvalWithinMs });
      await condition(() => progress.decision !== null, approvalWithinMs);
      if (!progress.decision) return false;
    } else {
      decide(typeof approval === 'object' ? approval : { by: by ?? 'nobody was asked' }, true);
    }
    const decision = progress.decision as NonNullable<BatchProgress['decision']>;
    await decideMonitorBatch({ ...step, decision, waited: isWanted });
    return decision.approved;
  }

  async function affectAll(): Promise<BatchSummary> {
    const planned = progress.plan?.planned ?? 0;
    for (let failures = 0; planned > 0; ) {
      const most = limitOfCall(action, limit, planned, progress.affected);
      const effect = await affectMonitors({ ...step, limit: most, call: progress.calls + 1 });
      const { answered, fresh } = effect;
      idle = answered ? (fresh > 0 ? 0 : idle + 1) : idle;
      failures = answered || fresh > 0 ? 0 : failures + 1;
      set({
        calls: progress.calls + 1,
        lost: progress.lost + (answered ? 0 : 1),
        affected: progress.affected + fresh,
        message: failures > 0 ? 'the service gives no answer; it is asked again' : null,
      });
      const then = afterCall(action, effect, idle);
      if (then === 'done') break;
      if (then === 'beyond') {
        throw ApplicationFailure.nonRetryable(
          `the service deleted ${effect.unplanned} monitor(s) that match only since the plan was made, such as ${effect.stranger}; ` +
            `stopped after ${progress.calls} calls and ${progress.affected} monitors of the plan, start it again for the rest`,
          'PlanChanged',
        );
      }
      if (then === 'stuck') {
        throw ApplicationFailure.nonRetryable(
          `${idle} calls in a row affected no monitor that was not affected before, and the service says that there are more; ` +
            `stopped after ${progress.calls} calls and ${progress.affected} monitors`,
          'NoProgress',
        );
      }
      if (failures > 0) await sleep(backoffMs(failures - 1, 1000, 60_000, Math.random()));
      if (workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        await continueAsNew<typeof batchMonitors>(input, { version: 1, progress, idle });
      }
    }
    return end('done');
  }

  async function end(phase: BatchPhase): Promise<BatchSummary> {
    const effect: BatchEffect | null = await finishMonitorBatch({ ...step, phase });
    set({ phase });
    await condition(allHandlersFinished);
    return { ...progress, into, effect };
  }
}

/** Where a batch stands, for Temporal's web UI (Markdown). */
function detailsText({ action, filter, phase, plan, affected, calls, message }: BatchProgress): string {
  return [
    `**${action}** monitors: ${phase}`,
    filterText(filter),
    ...(plan ? [`${affected} of ${plan.planned} in ${calls} calls`] : []),
    ...(message ? [message] : []),
  ].join('\n\n');
}
