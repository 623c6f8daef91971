import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { OperationResult } from '../activities/types.js';
import {
  APPROVAL_WITHIN_MS,
  afterCall,
  batchProblem,
  DEFAULT_BATCH_LIMIT,
  limitOfCall,
} from '../core/monitors/monitor-batch.js';
import { chosenText, filterProblem } from '../core/monitors/monitor-filter.js';
import { DEFAULT_MONITOR_WAREHOUSE, monitorSignals, monitorUpdates } from '../core/monitors/monitor-names.js';
import { backoffMs } from '../core/purchase/backoff.js';
import { jobOfWorkflow } from '../core/rows/job-ids.js';
import { queryNames } from '../core/rows/job-names.js';
import type { Json } from '../core/text/json.js';
import type {
  BatchMonitorsInput,
  CreateMonitorInput,
  Decision,
  ExportMonitorRunsInput,
  MonitorCall,
} from '../core/workflow-input-schemas.js';
import type {
  BatchEffect,
  BatchPhase,
  BatchProgress,
  BatchSummary,
  CreatedMonitorResult,
  MadeMonitor,
  MonitorExport,
} from '../core/workflow-result-schemas.js';
import { detailsText, failureOf, messageOf, toWorkflowFailure } from './shared/failures.js';
import { bulkPolicy, lonePolicy, slicePolicy } from './shared/policies.js';
import { forFirst, publicInput } from './shared/public-input.js';
import { setVersioning, summarizedActivities } from './shared/versioning.js';

const progressQuery = defineQuery<BatchProgress>(queryNames.progress);
const approveUpdate = defineUpdate<BatchProgress, [Decision]>(monitorUpdates.approve);
const rejectUpdate = defineUpdate<BatchProgress, [Decision]>(monitorUpdates.reject);

const { planMonitorBatch, decideMonitorBatch, finishMonitorBatch } = summarizedActivities(bulkPolicy, {
  planMonitorBatch: 'list the monitors that match',
  decideMonitorBatch: 'record the decision',
  finishMonitorBatch: 'write the audit',
});
const { affectMonitors } = summarizedActivities(slicePolicy, {
  affectMonitors: 'change the next monitors',
});

/** The state of a batch that is kept across continue-as-new. The state has counts, but no ids of monitors. */
export interface BatchState {
  readonly version: 1;
  readonly progress: BatchProgress;
  /** Consecutive answered calls without a new effect. */
  readonly idle: number;
}

/**
 * `batchMonitors`: pauses, unpauses or deletes the matching monitors. The workflow makes a plan, waits for an approval if the batch needs
 * one, makes calls until no monitor is left, and lists the monitors again to find the effect. The audit in the warehouse has every monitor.
 *
 * Start the workflow by name with plain JSON, see `BatchMonitorsInput`. Updates `approve` and `reject` take the person and the reason;
 * query `progress`. Fails with `NoProgress` if consecutive calls have no new effect. The second argument is internal, for continuing as
 * new. API reference: /monitors.
 */
export async function batchMonitors(
  input: BatchMonitorsInput,
  carried?: BatchState,
  ...extra: []
): Promise<BatchSummary> {
  publicInput('batchMonitors', [input], { carried, extra, also: batchProblem });
  const { action, filter = {}, ofSchedule, schedule = ofSchedule, limit = DEFAULT_BATCH_LIMIT } = input;
  const { into = DEFAULT_MONITOR_WAREHOUSE, host, by, origin } = input;
  const { firstExecutionRunId: run, workflowId } = workflowInfo();
  const job = jobOfWorkflow(workflowId);
  const step = { origin, host, ofSchedule, job, run, action, filter, limit, into };

  let idle = carried?.idle ?? 0;
  let progress: BatchProgress = carried?.progress ?? {
    ...{
      phase: 'planning',
      job,
      action,
      filter,
      ofSchedule: ofSchedule ?? null,
      limit,
      plan: null,
      decision: null,
      approveUntil: null,
    },
    ...{ calls: 0, lost: 0, affected: 0, message: null },
  };
  const set = (changes: Partial<BatchProgress>): void => {
    progress = { ...progress, ...changes };
    setCurrentDetails(batchDetails(progress));
  };
  const decide = (decision: Decision, approved: boolean): BatchProgress => {
    const { by: who, why } = decision;
    set({ decision: { by: who, why, approved, at: Date.now() } });
    return progress;
  };
  const validator = (decision: Decision | undefined): void => {
    if (typeof decision?.by !== 'string' || decision.by === '') throw new Error('by must name the person who decides');
    if (progress.phase !== 'waiting')
      throw new Error(`the batch is not waiting for a decision: it is ${progress.phase}`);
    if (progress.decision) throw new Error(`${progress.decision.by} has already decided`);
  };
  setHandler(progressQuery, () => progress);
  setHandler(approveUpdate, (decision) => decide(decision, true), { validator });
  setHandler(rejectUpdate, (decision) => decide(decision, false), { validator });

  try {
    if (!carried) {
      set({ plan: await planMonitorBatch(forFirst({ ...step, schedule, by: by ?? null })) });
      if (!(await approved())) return await end(progress.decision ? 'rejected' : 'expired');
      set({ phase: 'running' });
    }
    return await affectAll();
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const phase: BatchPhase = isCancellation(error) ? 'cancelled' : 'failed';
    set({ phase, message: messageOf(error) });
    // The end is recorded in the audit even if an earlier write to the warehouse failed.
    const last = { ...step, phase };
    await CancellationScope.nonCancellable(() => finishMonitorBatch(progress.plan ? last : forFirst(last))).catch(
      () => null,
    );
    throw toWorkflowFailure(error);
  }

  /** Whether the batch is approved, beforehand or by an Update. False without an approving Update in time. */
  async function approved(): Promise<boolean> {
    const { approval = action === 'delete' ? 'wait' : 'none', approvalWithinMs = APPROVAL_WITHIN_MS } = input;
    const isWanted = approval === 'wait' && (progress.plan?.planned ?? 0) > 0;
    if (isWanted) {
      set({ phase: 'waiting', approveUntil: Date.now() + approvalWithinMs });
      await condition(() => progress.decision !== null, approvalWithinMs);
      if (!progress.decision) return false;
    } else {
      decide(typeof approval === 'object' ? approval : { by: by ?? 'no approval required' }, true);
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
        message: failures > 0 ? 'the service does not answer; the call is retried' : null,
      });
      const then = afterCall(action, effect, idle);
      if (then === 'done') break;
      if (then === 'beyond') {
        throw ApplicationFailure.nonRetryable(
          `the service deleted ${effect.unplanned} monitor(s) that are not in the plan, such as ${effect.stranger}; ` +
            `stopped after ${progress.calls} calls and ${progress.affected} monitors of the plan. Start the batch again for the rest`,
          'PlanChanged',
        );
      }
      if (then === 'stuck') {
        throw ApplicationFailure.nonRetryable(
          `no progress: ${idle} calls in a row affected no further monitor, though the service reports more; ` +
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

setVersioning('moves', batchMonitors);

/** Returns the state of a batch for Temporal's web UI (Markdown). */
function batchDetails(progress: BatchProgress): string {
  const { action, plan, affected, calls } = progress;
  const counts = plan ? [`${affected} of ${plan.planned} in ${calls} calls`] : [];
  return detailsText(`**${action}** monitors`, progress, [chosenText(progress), ...counts]);
}

const { makeMonitor } = summarizedActivities(slicePolicy, { makeMonitor: 'create the monitor' });
const { findMadeMonitors } = summarizedActivities(bulkPolicy, {
  findMadeMonitors: 'find monitors of lost answers',
});

/**
 * Waits before further searches. A call without an answer may still take effect, so its monitor is searched for at once and again after
 * each wait.
 */
const POLL_AFTER = ['2s', '10s'] as const;

/**
 * `createMonitor`: creates a monitor once. If the answer gets lost, the monitor is searched for by a metadata key and adopted. A monitor is
 * created again only if the search finds none. See `CreateMonitorInput`. API reference: /monitors.
 */
export async function createMonitor(input: CreateMonitorInput, ...extra: []): Promise<CreatedMonitorResult> {
  const step = { ...publicInput('createMonitor', [input], { extra }), key: workflowInfo().firstExecutionRunId };
  try {
    for (let lost = 0; ; lost++) {
      const one = await made();
      if (one) {
        // A lost call may have created another monitor, which must be reported.
        const all = lost === 0 ? [] : await findMadeMonitors(step);
        const others = all.map(({ monitor }) => monitor.id).filter((id) => id !== one.monitor.id);
        return { ...one, adopted: false, others };
      }
      const [first, ...others] = await found();
      if (first) return { ...first, adopted: true, others: others.map((one) => one.monitor.id) };
    }
  } catch (error) {
    throw toWorkflowFailure(error);
  }

  /** Makes the call. Returns null without an answer, or with an unreadable answer. */
  async function made(): Promise<MadeMonitor | null> {
    try {
      return await makeMonitor(forFirst(step));
    } catch (error) {
      const { type } = failureOf(error);
      if (type !== 'UnknownOutcome' && type !== 'ResponseShape') throw error;
      return null;
    }
  }

  async function found() {
    for (const wait of [null, ...POLL_AFTER]) {
      if (wait !== null) await sleep(wait);
      const all = await findMadeMonitors(step);
      if (all.length > 0) return all;
    }
    return [];
  }
}

setVersioning('stays', createMonitor);

const runsChanged = defineSignal(monitorSignals.runsChanged);
const exportProgress = defineQuery<MonitorExport>(queryNames.progress);
const { exportMonitors, exportRunSlice } = summarizedActivities(bulkPolicy, {
  exportMonitors: 'load the monitors',
  exportRunSlice: 'load new runs and results',
});

/**
 * `exportMonitorRuns`: loads monitors, their runs and the results of the runs into a warehouse. The workflow reads the runs of a monitor
 * from the newest to the last known run. It reads a known run again if that run had not ended. A later export loads only what is new. After a
 * signal `runsChanged` it reads them once more. Start
 * the workflow by name with plain JSON, see `ExportMonitorRunsInput`. API reference: /monitors.
 */
export async function exportMonitorRuns(input?: ExportMonitorRunsInput, ...extra: []): Promise<MonitorExport> {
  const {
    filter = {},
    into = DEFAULT_MONITOR_WAREHOUSE,
    host,
    origin,
    unchecked,
  } = publicInput('exportMonitorRuns', [input ?? {}], {
    extra,
    also: (checked) => filterProblem(checked.filter ?? {}),
  });
  let changes = 0;
  setHandler(runsChanged, () => void changes++);
  let progress: MonitorExport = { into, monitors: 0, read: 0, added: 0, again: 0, results: 0 };
  setHandler(exportProgress, () => progress);
  const { firstExecutionRunId } = workflowInfo();
  const once = async (mark: string) => {
    const step = { origin, host, into, mark };
    const { monitors } = await exportMonitors(forFirst({ ...step, filter, unchecked }));
    progress = { ...progress, monitors };
    // Each activity takes up to a minute, so even an export of a whole day has a short history.
    for (let complete = false; !complete; ) {
      const { complete: isComplete, ...counts } = await exportRunSlice(step);
      complete = isComplete;
      progress = { ...progress, ...counts };
      setCurrentDetails(`${progress.read} of ${monitors} monitors, ${progress.added} new runs`);
    }
  };
  try {
    for (let seen = -1; seen !== changes; ) {
      seen = changes;
      await once(seen === 0 ? firstExecutionRunId : `${firstExecutionRunId}-${seen}`);
    }
    return progress;
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', exportMonitorRuns);

const { callMonitor } = summarizedActivities(lonePolicy, { callMonitor: 'call the service' });

/** `monitorCall`: executes one operation on a monitor, under the team's rate limit. */
export async function monitorCall(call: MonitorCall, ...extra: []): Promise<OperationResult<Json>> {
  publicInput('monitorCall', [call], { extra });
  try {
    return await callMonitor(forFirst(call));
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', monitorCall);
