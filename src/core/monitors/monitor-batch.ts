import type { MonitorAction } from '../choices.js';
import type { BatchMonitorsInput } from '../workflow-input-schemas.js';
import { filterProblem, takesSome } from './monitor-filter.js';

export const DEFAULT_BATCH_LIMIT = 100;

export const APPROVAL_WITHIN_MS = 24 * 3_600_000;

/** Returns the problem of an input beyond those that its schema names; null where there is none. */
export function batchProblem(input: BatchMonitorsInput): string | null {
  const { action, filter = {}, ofSchedule, approval } = input;
  const wrong = filterProblem(filter);
  if (wrong !== null) return wrong;
  if (ofSchedule !== undefined && (action !== 'unpause' || takesSome(filter)))
    return 'ofSchedule is for unpause, without a filter: the audit has the monitors';
  if (ofSchedule === undefined && !takesSome(filter))
    return 'filter must have name, status or metadata; a batch never covers all monitors';
  const { status } = filter;
  if (action === 'delete' && approval === 'none') return 'approval must not be none for a deletion';
  const from = statuses[action].before;
  if (from !== null && status !== undefined && status !== from)
    return `filter.status must be ${from} or absent: ${action} only changes ${from} monitors`;
  return null;
}

/** The statuses that an action changes and leads to; null: it changes any monitor, or deletes the monitors. */
export const statuses = {
  pause: { before: 'active', after: 'paused' },
  unpause: { before: 'paused', after: 'active' },
  delete: { before: null, after: null },
} as const satisfies Readonly<Record<MonitorAction, object>>;

/** The number of consecutive calls without a new effect after which a batch ends. */
export const MAX_IDLE_CALLS = 2;

/**
 * Maximum number of monitors for one call. The approval of a deletion covers only the plan, so a deletion takes at most the planned
 * monitors that are left (at least one). `affected`: number of monitors of the plan that earlier calls affected.
 */
export function limitOfCall(action: MonitorAction, limit: number, planned: number, affected: number): number {
  return action === 'delete' ? Math.max(1, Math.min(limit, planned - affected)) : limit;
}

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
