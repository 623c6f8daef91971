import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  batchMonitorsEndpoint,
  type MonitorBatchResponse,
  readMonitorBatch,
} from '../../api/endpoints/monitor-batch.js';
import { MAX_BATCH_LIMIT, type MonitorAction } from '../../core/choices.js';
import type { BatchRun, CallEffect } from '../../core/monitors/monitor-batch.js';
import {
  contradiction,
  effectOf,
  filterOfCalls,
  filterWithoutStatus,
  isChanged,
  isDone,
  SHOWN_MONITORS,
  type SortedMonitors,
  sortMonitors,
  summarizeEffects,
} from '../../core/monitors/monitor-effect.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { isPausedBy } from '../../core/monitors/scheduled-pauses.js';
import type { Decision, MonitorFilter } from '../../core/workflow-input-schemas.js';
import type { BatchEffect, BatchPhase, BatchPlan, MonitorState } from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { sendFreeWithRetries } from '../base/free-call.js';
import { type First, onlyFor, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { mapConcurrent } from '../call/map-concurrent.js';
import type { OperationResult } from '../operations/buy.js';
import { buyWhole } from '../operations/whole-request.js';
import { listStates, readState, refusal, setStatus } from './monitor-list.js';

/** Input of each activity of a batch. */
export interface BatchStep extends Omit<BatchRun, 'origin'> {
  /** Base URL of the service, or `sandbox`. */
  readonly origin?: string;
  readonly action: MonitorAction;
  readonly filter: MonitorFilter;
  /** A schedule whose pauses the batch ends; then the filter is empty. */
  readonly ofSchedule?: string;
  /** The most monitors that one call changes. */
  readonly limit: number;
  readonly into: string;
  readonly host?: string;
}

/** Types of failures without a readable answer. After such a failure the effect of the call is read from the monitors. */
const lostTypes = new Set(['UnknownOutcome', 'ResponseShape']);
/** Attempts at a plan while list and dry run differ. The two may differ because a monitor changed in between. */
const PLAN_TRIES = 3;

export function createMonitorBatchActivities(deps: ActivityDeps) {
  const { origin } = deps;
  const runOf = ({ job, run }: BatchStep): BatchRun => ({ origin, job, run });
  const auditOf = async (step: BatchStep): Promise<MonitorWarehouse['audit']> => {
    onlyFor(deps, step.origin);
    return (await deps.monitors.warehouse(step)).audit;
  };

  return {
    /** `planMonitorBatch`: lists the matching monitors, compares the list with a dry run, and writes the plan into the warehouse. */
    async planMonitorBatch(
      step: First<BatchStep & { readonly schedule?: string | undefined; readonly by: string | null }>,
    ): Promise<BatchPlan> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, step);
        const { action, filter, schedule, by } = step;
        const audit = await auditOf(step);
        const { toDo, already, left } = await agreedPlan(deps, step, audit);
        const record = { ...runOf(step), action, filter, schedule, by, at: Date.now() };
        await audit.plan(record, toDo, already);
        return {
          planned: toDo.length,
          already: already.length,
          left: left.length,
          examples: toDo.slice(0, SHOWN_MONITORS),
        };
      });
    },

    /**
     * `decideMonitorBatch`: records the decision. After a wait the plan is checked again. The batch ends if a matching monitor has changed
     * since the plan or is not in the plan, because such a monitor was not approved.
     */
    async decideMonitorBatch(
      step: BatchStep & {
        readonly decision: Decision & { readonly approved: boolean; readonly at: number };
        readonly waited: boolean;
      },
    ): Promise<void> {
      return withHeartbeat(async () => {
        const { decision, waited } = step;
        const audit = await auditOf(step);
        await audit.decide(runOf(step), decision);
        if (!decision.approved) return;
        if (waited) await holdToPlan(deps, step, audit, await audit.monitors(runOf(step), 'pending'));
        await audit.begin(runOf(step), decision.by);
      });
    },

    /** `affectMonitors`: makes one call exactly once, even if a worker ends meanwhile, and records the effect of the call in the audit. */
    async affectMonitors(step: BatchStep & { readonly call: number }): Promise<CallEffect> {
      const { action, filter, limit, call } = step;
      onlyFor(deps, step.origin);
      if (step.ofSchedule !== undefined) return withHeartbeat(async () => unpauseEach(deps, step, await auditOf(step)));
      const input = { action, filter: filterOfCalls(action, filter), dry_run: false, limit };
      let answer: Awaited<ReturnType<typeof answerOf>> | null = null;
      try {
        answer = await answerOf(deps, await buyWhole(deps, batchMonitorsEndpoint, input));
      } catch (error) {
        if (!(error instanceof ApplicationFailure) || !lostTypes.has(error.type ?? '')) throw error;
      }
      return withHeartbeat(async () => {
        const reported = answer ? readMonitorBatch(answer.data) : null;
        if (reported?.dryRun === true) throw refusal('the service made a dry run instead of the requested change');
        const ids = reported?.ids ?? (await seenDone(deps, step, await auditOf(step)));
        const record = { call, requestId: answer?.requestId ?? null, at: Date.now(), answered: answer !== null, ids };
        const { planned, unplanned } = await (await auditOf(step)).record(runOf(step), record);
        return {
          answered: answer !== null,
          fresh: planned + (await countDone(deps, step, unplanned)),
          unplanned: unplanned.length,
          stranger: unplanned[0] ?? null,
          hasMore: reported?.hasMore ?? null,
        };
      });
    },

    /** `finishMonitorBatch`: lists the monitors again and compares the list with the plan and the reported effects. */
    async finishMonitorBatch(step: First<BatchStep & { readonly phase: BatchPhase }>): Promise<BatchEffect | null> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, step);
        const audit = await auditOf(step);
        const acted = step.phase !== 'rejected' && step.phase !== 'expired';
        const planned = acted ? await audit.monitors(runOf(step), 'all') : [];
        const now = planned.length > 0 ? await currentStates(deps, step, planned) : () => null;
        const effects = planned.map((one) => effectOf(step.action, one, now(one.id)));
        await audit.finish(runOf(step), { phase: step.phase, at: Date.now(), effects });
        return acted ? summarizeEffects(effects, SHOWN_MONITORS) : null;
      });
    },
  };
}

/** Returns the plan once list and dry run agree. */
async function agreedPlan(deps: ActivityDeps, step: BatchStep, audit: MonitorWarehouse['audit']) {
  const { action, filter, ofSchedule } = step;
  for (let tries = 1; ; tries++) {
    const sorted = await matching(deps, step, audit, filter);
    if (ofSchedule !== undefined) return sorted;
    const limit = Math.min(MAX_BATCH_LIMIT, Math.max(1, sorted.toDo.length));
    const input = { action, filter: filterOfCalls(action, filter), dry_run: true, limit };
    const { data } = await sendFreeWithRetries(deps, batchMonitorsEndpoint, input);
    const reported = readMonitorBatch(data);
    if (reported.dryRun === false)
      throw refusal('the service carried out a dry run for real; check the monitors', 'PlanDiffers');
    const differs = contradiction(sorted.toDo, reported);
    if (differs === null) return sorted;
    if (tries === PLAN_TRIES)
      throw refusal(`the service's answers differ: ${differs}; nothing was changed`, 'PlanDiffers');
  }
}

/** Returns the monitors of a batch by what it does to them. */
async function matching(
  deps: ActivityDeps,
  { action, ofSchedule }: BatchStep,
  audit: MonitorWarehouse['audit'],
  filter: MonitorFilter,
): Promise<SortedMonitors> {
  if (ofSchedule === undefined) return sortMonitors(action, await listStates(deps, filter));
  const known = await audit.pausesOf(deps.origin, ofSchedule);
  const ours = new Set(known.pauses.filter(({ schedule }) => schedule === ofSchedule).map(({ id }) => id));
  const paused = ours.size === 0 ? [] : await listStates(deps, { status: 'paused' });
  const concerned = paused.filter(({ id }) => ours.has(id));
  const toDo = concerned.filter((now) => isPausedBy(ofSchedule, known, now));
  return { toDo, already: [], left: concerned.filter((one) => !toDo.includes(one)) };
}

/** Throws if a matching monitor is not in the plan or has changed since the plan. */
async function holdToPlan(
  deps: ActivityDeps,
  step: BatchStep,
  audit: MonitorWarehouse['audit'],
  planned: readonly MonitorState[],
): Promise<void> {
  const { toDo } = await matching(deps, step, audit, filterOfCalls(step.action, step.filter));
  const known = new Map(planned.map((one) => [one.id, one]));
  const changed = toDo.filter((now) => {
    const before = known.get(now.id);
    return before === undefined || isChanged(before, now);
  });
  const [one] = changed;
  if (!one) return;
  const change = known.has(one.id) ? 'has changed since' : 'was not in the plan';
  throw refusal(
    `${changed.length} matching monitor(s) differ from the approved plan, such as ${one.name ?? one.id}, which ${change}; nothing was changed. Start the batch again`,
    'PlanChanged',
  );
}

/** Monitors that are changed and recorded together, and calls in flight. */
const CHUNK = 25;
const WIDTH = 5;

/**
 * Unpauses the monitors of the plan one by one, because no filter selects them. A monitor that has changed since the plan is left alone. A
 * retry continues after the recorded ones.
 */
async function unpauseEach(
  deps: ActivityDeps,
  { job, run, action, call }: BatchStep & { readonly call: number },
  audit: MonitorWarehouse['audit'],
): Promise<CallEffect> {
  const batch = { origin: deps.origin, job, run };
  const pending = await audit.monitors(batch, 'pending');
  const { cancellationSignal } = Context.current();
  let fresh = 0;
  for (let from = 0; from < pending.length; from += CHUNK) {
    const ids: string[] = [];
    await mapConcurrent(pending.slice(from, from + CHUNK), WIDTH, async (planned) => {
      if (cancellationSignal.aborted) return;
      const now = await readState(deps, planned.id);
      if (now === null || (!isDone(action, now) && isChanged(planned, now))) return;
      if (!isDone(action, now)) await setStatus(deps, planned.id, 'active');
      ids.push(planned.id);
    });
    // The count has what earlier attempts at this call have recorded, too.
    fresh = (await audit.record(batch, { call, requestId: null, at: Date.now(), answered: true, ids })).planned;
    cancellationSignal.throwIfAborted();
  }
  return { answered: true, fresh, unplanned: 0, stranger: null, hasMore: false };
}

/**
 * Returns how many of the unplanned monitors `ids` are in the state that the action leads to. Returns 0 for a deletion: a missing monitor
 * may never have existed.
 */
async function countDone(deps: ActivityDeps, step: BatchStep, ids: readonly string[]): Promise<number> {
  if (ids.length === 0 || step.action === 'delete') return 0;
  const now = await currentStates(
    deps,
    step,
    ids.map((id) => ({ id, ours: true })),
  );
  return ids.filter((id) => isDone(step.action, now(id))).length;
}

/** Returns the answer of a call. An answer that is too large for Temporal is read from the journal. */
async function answerOf(
  { journal }: ActivityDeps,
  result: OperationResult<MonitorBatchResponse>,
): Promise<{ readonly data: MonitorBatchResponse; readonly requestId: string | null }> {
  const requestId = result.requests[0]?.requestId ?? null;
  if ('data' in result) return { data: result.data, requestId };
  const [record] = [...(await journal.read(result.landed)).values()];
  // The answer was checked against the endpoint's schema when it landed.
  return { data: (record?.result ?? {}) as MonitorBatchResponse, requestId };
}

/** Returns monitors of the plan that no answer names, but that are already in the state that the action leads to. */
async function seenDone(deps: ActivityDeps, step: BatchStep, audit: MonitorWarehouse['audit']): Promise<string[]> {
  const pending = await audit.monitors({ origin: deps.origin, job: step.job, run: step.run }, 'pending');
  if (pending.length === 0) return [];
  const now = await currentStates(deps, step, pending);
  return pending.filter(({ id }) => isDone(step.action, now(id))).map(({ id }) => id);
}

/** The most monitors that are read one by one. If more must be read, the whole list is read instead. */
const MAX_SINGLE_POLLS = 10;

/**
 * Returns the present state of monitors. A monitor that the filter does not find may have been renamed, so that monitor is read by its id.
 */
async function currentStates(
  deps: ActivityDeps,
  { action, filter }: BatchStep,
  monitors: readonly { readonly id: string; readonly ours: boolean }[],
): Promise<(id: string) => MonitorState | null> {
  const byId = (found: readonly MonitorState[]) => found.map((one) => [one.id, one] as const);
  const listed = new Map(byId(await listStates(deps, filterWithoutStatus(filter))));
  const absent = monitors.filter(({ id, ours }) => !listed.has(id) && !(ours && action === 'delete'));
  if (absent.length > MAX_SINGLE_POLLS) {
    const all = new Map(byId(await listStates(deps, {})));
    return (id) => listed.get(id) ?? all.get(id) ?? null;
  }
  await mapConcurrent(absent, MAX_SINGLE_POLLS, async ({ id }) => {
    const found = await readState(deps, id);
    if (found) listed.set(id, found);
  });
  return (id) => listed.get(id) ?? null;
}
