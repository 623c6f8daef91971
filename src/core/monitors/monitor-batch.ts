import { MAX_BATCH_LIMIT, type MonitorAction } from '../choices.js';
import type { BatchMonitorsInput, MonitorFilter } from '../workflow-input-schemas.js';
import type { MonitorState } from '../workflow-result-schemas.js';
import { filterProblem, takesSome } from './monitor-filter.js';

/** Whether a monitor changed between two reads. */
export function isChanged(before: MonitorState, now: MonitorState): boolean {
  return before.status !== now.status || before.updatedAt !== now.updatedAt || isRedefined(before, now);
}

/** Whether the definition of a monitor changed, regardless of its status. */
export function isRedefined(before: MonitorState, now: MonitorState): boolean {
  return before.definition !== null && now.definition !== null && before.definition !== now.definition;
}

export const DEFAULT_BATCH_LIMIT = 100;

export const APPROVAL_WITHIN_MS = 24 * 3_600_000;

/** Returns the problem of an input beyond those that its schema names; null where there is none. */
export function batchProblem(input: BatchMonitorsInput): string | null {
  const { action, filter = {}, ofSchedule, limit = DEFAULT_BATCH_LIMIT, approval } = input;
  const wrong = filterProblem(filter);
  if (wrong !== null) return wrong;
  if (ofSchedule !== undefined && (action !== 'unpause' || takesSome(filter)))
    return 'ofSchedule is for unpause, without a filter: the audit has the monitors';
  if (ofSchedule === undefined && !takesSome(filter))
    return 'filter must have name, status or metadata; a batch never covers all monitors';
  const { status } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_BATCH_LIMIT)
    return `limit must be a whole number from 1 to ${MAX_BATCH_LIMIT}`;
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

/** Maximum number of monitors that a plan or an effect lists; the warehouse has all monitors. */
export const SHOWN_MONITORS = 20;
