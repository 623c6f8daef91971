import { filterProblem, type MonitorFilter, takesSome } from './monitor-filter.js';

/** What a batch does with each monitor that matches (interface section 4.6). */
export const monitorActions = ['pause', 'unpause', 'delete'] as const;
export type MonitorAction = (typeof monitorActions)[number];

/** A monitor as far as a batch looks at it; times as the service tells them. */
export interface MonitorState {
  readonly id: string;
  readonly name: string | null;
  readonly status: string | null;
  readonly updatedAt: string | null;
  /** Digest of what its owner says of it: name, search, trigger and so on, not its status. Null where it isn't known. */
  readonly definition: string | null;
}

/** Whether somebody changed a monitor between two looks at it. */
export function isChanged(before: MonitorState, now: MonitorState): boolean {
  return before.status !== now.status || before.updatedAt !== now.updatedAt || isRedefined(before, now);
}

/** Whether somebody changed what a monitor is, whatever its status. */
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
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  readonly action: MonitorAction;
  readonly filter: MonitorFilter;
  /** Monitors a call, 1 to 500; default 100. */
  readonly limit?: number;
  /** Warehouse of the audit; default `out/monitors.duckdb` under the worker's directory. */
  readonly into?: string;
  /** Where the warehouse is a file and workers are on several machines: name of the machine that has it. */
  readonly host?: string;
  /** Who asks, for the audit. */
  readonly by?: string;
  /** Approved before it starts; or to be approved by the Update `approve`. Default: to be approved where it deletes. */
  readonly approval?: Decision | 'wait' | 'none';
  /** How long an approval is waited for, ms; default a day. */
  readonly approvalWithinMs?: number;
}

export const DEFAULT_BATCH_LIMIT = 100;
export const MAX_BATCH_LIMIT = 500;
export const APPROVAL_WITHIN_MS = 24 * 3_600_000;

/** A sentence that says what is wrong with the input; null where nothing is. */
export function batchProblem(input: BatchMonitorsInput): string | null {
  const { action, filter, limit = DEFAULT_BATCH_LIMIT, approval } = input;
  if (!monitorActions.includes(action)) return `action: one of ${monitorActions.join(', ')} is needed`;
  const wrong = filterProblem(filter ?? {});
  if (wrong !== null) return wrong;
  if (!takesSome(filter ?? {}))
    return 'filter: name, status or metadata is needed; all monitors at once are never meant';
  const { status } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_BATCH_LIMIT)
    return `limit: 1 to ${MAX_BATCH_LIMIT} is needed`;
  if (typeof approval === 'object' && !approval.by) return 'approval.by: say who approved';
  if (action === 'delete' && approval === 'none') return 'approval: what deletes is approved by somebody';
  const from = statusBefore[action];
  if (from !== null && status !== undefined && status !== from) {
    return `filter.status: ${action} acts on ${from} monitors only, so that its loop ends and disabled ones stay as they are`;
  }
  return null;
}

/** Status of the monitors that an action acts on; null: of any. */
const statusBefore: Readonly<Record<MonitorAction, string | null>> = {
  pause: 'active',
  unpause: 'paused',
  delete: null,
};
/** … and behind it; null: they are gone. */
const statusAfter: Readonly<Record<MonitorAction, string | null>> = {
  pause: 'paused',
  unpause: 'active',
  delete: null,
};

/** The filter of the calls: with the status that what was acted on has no longer, so that the loop ends. */
export function filterOfCalls(action: MonitorAction, filter: MonitorFilter): MonitorFilter {
  const status = statusBefore[action];
  return status === null ? filter : { ...filter, status };
}

/** The filter under which a monitor is still found when it was acted on. */
export function filterOfLooks({ name, metadata }: MonitorFilter): MonitorFilter {
  return { ...(name === undefined ? {} : { name }), ...(metadata === undefined ? {} : { metadata }) };
}

/** Monitors by what an action means for them. */
export interface SortedMonitors {
  readonly toDo: readonly MonitorState[];
  /** They are already as they would be. */
  readonly already: readonly MonitorState[];
  /** They stay as they are, such as disabled ones. */
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

/** Whether an action has been done to a monitor; `now` is null where it is gone. */
export function isDone(action: MonitorAction, now: MonitorState | null): boolean {
  return action === 'delete' ? now === null : now !== null && now.status === statusAfter[action];
}

/** What a dry run told; see `readMonitorBatch`. */
export interface DryRunReport {
  readonly ids: readonly string[] | null;
  readonly affected: number | null;
  readonly hasMore: boolean | null;
}

/** How a dry run contradicts the plan, in words; null where it doesn't as far as it tells. */
export function contradiction(planned: readonly MonitorState[], reported: DryRunReport): string | null {
  const known = new Set(planned.map(({ id }) => id));
  const strange = reported.ids?.filter((id) => !known.has(id)) ?? [];
  if (strange.length > 0)
    return `its dry run names ${strange.length} monitor(s) that its list doesn't show, such as ${strange[0]}`;
  const count = reported.ids ? new Set(reported.ids).size : reported.affected;
  if (count === null) return null;
  if (reported.hasMore === true && count < known.size) return null;
  if (count === known.size) return null;
  return `its dry run tells of ${count} monitor(s), its list of ${known.size}`;
}

/** Calls that affect nothing new, one after the other, before a loop is given up. */
export const MAX_IDLE_CALLS = 2;

/**
 * Monitors that a call may affect. One that deletes takes no more than are left of the plan: an approval is for so many.
 * `affected`: monitors of the plan that calls before it affected.
 */
export function limitOfCall(action: MonitorAction, limit: number, planned: number, affected: number): number {
  return action === 'delete' ? Math.max(1, Math.min(limit, planned - affected)) : limit;
}

/** What one call did. */
export interface CallEffect {
  /** The service said so; false: no answer landed, it was looked at. */
  readonly answered: boolean;
  /** Monitors of the plan that no call before affected, and others that a look showed to be affected. */
  readonly fresh: number;
  /** Monitors that it named though no plan does. */
  readonly unplanned: number;
  /** One of these. */
  readonly stranger: string | null;
  readonly hasMore: boolean | null;
}

/**
 * How a loop goes on behind a call. `idle`: answered calls in a row that affected nothing new, this one included. `beyond`: it
 * deleted what nobody approved.
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

/** What names one batch in the audit. */
export interface BatchRun {
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  readonly job: string;
  /** Id of the workflow's first run: a job may run again. */
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

/** What the query `progress` of a batch answers. Times Unix ms. */
export interface BatchProgress {
  readonly phase: BatchPhase;
  readonly job: string;
  readonly action: MonitorAction;
  readonly filter: MonitorFilter;
  /** Monitors a call. */
  readonly limit: number;
  readonly plan: BatchPlan | null;
  readonly decision: (Decision & { readonly approved: boolean; readonly at: number }) | null;
  /** Until when an approval is waited for. */
  readonly approveUntil: number | null;
  readonly calls: number;
  /** Calls without an answer; what they did was looked at. */
  readonly lost: number;
  readonly affected: number;
  readonly message: string | null;
}

/** Monitors that plans and effects show; all of them are in the warehouse. */
export const SHOWN_MONITORS = 20;
