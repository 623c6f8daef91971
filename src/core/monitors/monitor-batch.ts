import { filterProblem, type MonitorFilter, takesSome } from './monitor-filter.js';

/** The action of a batch on each matching monitor (API reference: /monitors). */
export const monitorActions = ['pause', 'unpause', 'delete'] as const;
export type MonitorAction = (typeof monitorActions)[number];

/** The facts of a monitor that a batch compares; times as the service returns them. */
export interface MonitorState {
  readonly id: string;
  readonly name: string | null;
  readonly status: string | null;
  readonly updatedAt: string | null;
  /** Digest of the monitor's definition: name, search, trigger and so on, without its status. Null where unknown. */
  readonly definition: string | null;
}

/** Whether a monitor changed between two reads. */
export function isChanged(before: MonitorState, now: MonitorState): boolean {
  return before.status !== now.status || before.updatedAt !== now.updatedAt || isRedefined(before, now);
}

/** Whether the definition of a monitor changed, regardless of its status. */
export function isRedefined(before: MonitorState, now: MonitorState): boolean {
  return before.definition !== null && now.definition !== null && before.definition !== now.definition;
}

/** Who decided, and why. */
export interface Decision {
  readonly by: string;
  readonly why?: string;
}

/** Input of the `batchMonitors` workflow: plain JSON, usable from any Temporal SDK. */
export interface BatchMonitorsInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the batch. */
  readonly origin?: string;
  readonly action: MonitorAction;
  /** Required without `ofSchedule`. */
  readonly filter?: MonitorFilter;
  /** Name of the schedule that starts the batch, for the audit. */
  readonly schedule?: string;
  /**
   * Name of a schedule, for `unpause` without a filter: unpauses what batches of this schedule have paused and nobody has changed since,
   * by the audit in `into`.
   */
  readonly ofSchedule?: string;
  /** Maximum number of monitors that one call changes, 1 to 500; default 100. */
  readonly limit?: number;
  /** Warehouse of the audit; default `out/monitors.duckdb` under the worker's directory. */
  readonly into?: string;
  /** The machine that has the warehouse file, for workers on several machines. */
  readonly host?: string;
  /** The person who requests the batch, for the audit. */
  readonly by?: string;
  /**
   * The approval if it was given beforehand; `wait`: the batch waits for the Update `approve`. Default: `wait` for deletions, otherwise
   * `none`.
   */
  readonly approval?: Decision | 'wait' | 'none';
  /** How long to wait for an approval, in ms; default: a day. */
  readonly approvalWithinMs?: number;
}

export const DEFAULT_BATCH_LIMIT = 100;
export const MAX_BATCH_LIMIT = 500;
export const APPROVAL_WITHIN_MS = 24 * 3_600_000;

/** Returns the problem of an input; null where there is none. */
export function batchProblem(input: BatchMonitorsInput): string | null {
  const { action, filter = {}, ofSchedule, limit = DEFAULT_BATCH_LIMIT, approval } = input;
  if (!monitorActions.includes(action)) return `action must be one of ${monitorActions.join(', ')}`;
  const wrong = filterProblem(filter);
  if (wrong !== null) return wrong;
  if (ofSchedule !== undefined && (action !== 'unpause' || takesSome(filter)))
    return 'ofSchedule is for unpause, without a filter: the audit has the monitors';
  if (ofSchedule === undefined && !takesSome(filter))
    return 'filter must have name, status or metadata; a batch never covers all monitors';
  const { status } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_BATCH_LIMIT)
    return `limit must be a whole number from 1 to ${MAX_BATCH_LIMIT}`;
  if (typeof approval === 'object' && !approval.by) return 'approval.by must name the person who approved';
  if (action === 'delete' && approval === 'none') return 'approval must not be none for a deletion';
  const from = statusBefore[action];
  if (from !== null && status !== undefined && status !== from) {
    return `filter.status must be ${from} or absent: ${action} only changes ${from} monitors`;
  }
  return null;
}

/** The status that a monitor must have so that an action changes it; null: any. */
const statusBefore: Readonly<Record<MonitorAction, string | null>> = {
  pause: 'active',
  unpause: 'paused',
  delete: null,
};
/** Status of the monitors after an action; null: the monitors are deleted. */
const statusAfter: Readonly<Record<MonitorAction, string | null>> = {
  pause: 'paused',
  unpause: 'active',
  delete: null,
};

/** The filter that calls send. This filter has the status before the action, so that changed monitors no longer match and the loop ends. */
export function filterOfCalls(action: MonitorAction, filter: MonitorFilter): MonitorFilter {
  const status = statusBefore[action];
  return status === null ? filter : { ...filter, status };
}

/** The filter without its status. This filter still finds a monitor whose status the action has changed. */
export function filterWithoutStatus({ name, metadata }: MonitorFilter): MonitorFilter {
  return { name, metadata };
}

/** Monitors by the effect that an action would have. */
export interface SortedMonitors {
  readonly toDo: readonly MonitorState[];
  /** Monitors that already have the status after the action. */
  readonly already: readonly MonitorState[];
  /** Monitors that the action does not change, such as disabled monitors. */
  readonly left: readonly MonitorState[];
}

/** Sorts the monitors that match. */
export function sortMonitors(action: MonitorAction, monitors: readonly MonitorState[]): SortedMonitors {
  const before = statusBefore[action];
  if (before === null) return { toDo: monitors, already: [], left: [] };
  const after = statusAfter[action];
  return {
    toDo: monitors.filter(({ status }) => status === before),
    already: monitors.filter(({ status }) => status === after),
    left: monitors.filter(({ status }) => status !== before && status !== after),
  };
}

/** Whether a monitor is in the state after an action. `now` is null if the monitor does not exist. */
export function isDone(action: MonitorAction, now: MonitorState | null): boolean {
  return action === 'delete' ? now === null : now !== null && now.status === statusAfter[action];
}

/** The result of a dry run; see `readMonitorBatch`. */
export interface DryRunReport {
  readonly ids: readonly string[] | null;
  readonly affected: number | null;
  readonly hasMore: boolean | null;
}

/** Describes a difference between a dry run and the plan; null if there is none. */
export function contradiction(planned: readonly MonitorState[], reported: DryRunReport): string | null {
  const known = new Set(planned.map(({ id }) => id));
  const unplanned = reported.ids?.filter((id) => !known.has(id)) ?? [];
  if (unplanned.length > 0)
    return `the dry run has ${unplanned.length} monitor(s) that the list lacks, such as ${unplanned[0]}`;
  const count = reported.ids ? new Set(reported.ids).size : reported.affected;
  if (count === null) return null;
  if (reported.hasMore === true && count < known.size) return null;
  if (count === known.size) return null;
  return `the dry run has ${count} monitor(s), the list ${known.size}`;
}

/** The number of consecutive calls without a new effect after which a batch ends. */
export const MAX_IDLE_CALLS = 2;

/**
 * Maximum number of monitors for one call. The approval of a deletion covers only the plan, so a deletion takes at most the planned
 * monitors that are left (at least one). `affected`: number of monitors of the plan that earlier calls affected.
 */
export function limitOfCall(action: MonitorAction, limit: number, planned: number, affected: number): number {
  return action === 'delete' ? Math.max(1, Math.min(limit, planned - affected)) : limit;
}

/** The effect of one call. */
export interface CallEffect {
  /** Whether an answer landed. If not, the effect was read from the monitors. */
  readonly answered: boolean;
  /** Number of monitors that this call affected and no earlier call did, according to the answer or to the state of the monitors. */
  readonly fresh: number;
  /** Monitors in the answer that are not in the plan. */
  readonly unplanned: number;
  /** Id of the first monitor in the answer that is not in the plan. */
  readonly stranger: string | null;
  readonly hasMore: boolean | null;
}

/**
 * The step after a call. `idle`: consecutive answered calls without a new effect, including this call. `beyond`: the call deleted a
 * monitor that was not approved.
 */
export function afterCall(
  action: MonitorAction,
  { answered, fresh, unplanned, hasMore }: CallEffect,
  idle: number,
): 'again' | 'done' | 'stuck' | 'beyond' {
  if (!answered) return 'again';
  if (action === 'delete' && unplanned > 0) return 'beyond';
  if (hasMore === false || (hasMore === null && fresh === 0)) return 'done';
  return idle >= MAX_IDLE_CALLS ? 'stuck' : 'again';
}

/** Identifies one batch in the audit. */
export interface BatchRun {
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  readonly job: string;
  /** Id of the workflow's first run. This id distinguishes batches, because the id of a job may be used again. */
  readonly run: string;
}

/** Counts of a plan, with some of its monitors. */
export interface BatchPlan {
  readonly planned: number;
  readonly already: number;
  readonly left: number;
  readonly examples: readonly MonitorState[];
}

export type BatchPhase = 'planning' | 'waiting' | 'running' | 'done' | 'rejected' | 'expired' | 'failed' | 'cancelled';

/** Answer of a batch's `progress` query. Times in Unix ms. */
export interface BatchProgress {
  readonly phase: BatchPhase;
  readonly job: string;
  readonly action: MonitorAction;
  readonly filter: MonitorFilter;
  /** Schedule whose pauses the batch ends; null: the filter selects the monitors. */
  readonly ofSchedule: string | null;
  /** Maximum number of monitors that one call changes. */
  readonly limit: number;
  readonly plan: BatchPlan | null;
  readonly decision: (Decision & { readonly approved: boolean; readonly at: number }) | null;
  /** When the wait for an approval ends. */
  readonly approveUntil: number | null;
  readonly calls: number;
  /** Calls without an answer; the effect of these calls was read from the monitors. */
  readonly lost: number;
  readonly affected: number;
  readonly message: string | null;
}

/** Maximum number of monitors that a plan or an effect lists; the warehouse has all monitors. */
export const SHOWN_MONITORS = 20;
