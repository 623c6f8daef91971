import type { MonitorAction } from '../choices.js';
import type { MonitorFilter } from '../workflow-input-schemas.js';
import type { BatchEffect, EffectKind, MonitorEffect, MonitorState } from '../workflow-result-schemas.js';
import { statuses } from './monitor-batch.js';

export function isChanged(before: MonitorState, now: MonitorState): boolean {
  return before.status !== now.status || before.updatedAt !== now.updatedAt || isRedefined(before, now);
}

/** Whether the definition of a monitor changed, regardless of its status. */
function isRedefined(before: MonitorState, now: MonitorState): boolean {
  return before.definition !== null && now.definition !== null && before.definition !== now.definition;
}

/** Maximum number of monitors that a plan or an effect lists; the warehouse has all monitors. */
export const SHOWN_MONITORS = 20;

/** The filter that calls send. This filter has the status before the action, so that changed monitors no longer match and the loop ends. */
export function filterOfCalls(action: MonitorAction, filter: MonitorFilter): MonitorFilter {
  const status = statuses[action].before;
  return status === null ? filter : { ...filter, status };
}

/** The filter without its status. This filter still finds a monitor whose status the action has changed. */
export function filterWithoutStatus({ name, metadata }: MonitorFilter): MonitorFilter {
  return { name, metadata };
}

export interface SortedMonitors {
  readonly toDo: readonly MonitorState[];
  /** Monitors that already have the status after the action. */
  readonly already: readonly MonitorState[];
  /** Monitors that the action does not change, such as disabled monitors. */
  readonly left: readonly MonitorState[];
}

export function sortMonitors(action: MonitorAction, monitors: readonly MonitorState[]): SortedMonitors {
  const { before, after } = statuses[action];
  if (before === null) return { toDo: monitors, already: [], left: [] };
  return {
    toDo: monitors.filter(({ status }) => status === before),
    already: monitors.filter(({ status }) => status === after),
    left: monitors.filter(({ status }) => status !== before && status !== after),
  };
}

/** Whether a monitor is in the state after an action. `now` is null if the monitor does not exist. */
export function isDone(action: MonitorAction, now: MonitorState | null): boolean {
  return action === 'delete' ? now === null : now !== null && now.status === statuses[action].after;
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

export interface PlannedMonitor extends MonitorState {
  /** False: a call affected the monitor although the monitor is not in the plan. */
  readonly planned: boolean;
  /** Whether a call of ours affected the monitor, by the call's answer or by the monitor's state. */
  readonly ours: boolean;
  /** Whether a later call of ours affected the same monitor again. */
  readonly again: boolean;
}

/** Compares a monitor of a batch with its present state. A change that no call made is attributed to other clients. */
export function effectOf(action: MonitorAction, one: PlannedMonitor, now: MonitorState | null): MonitorEffect {
  const done = isDone(action, now);
  const effect = (kind: EffectKind, note: string | null): MonitorEffect => {
    const { id, name, status, updatedAt, definition } = one;
    const before = { id, name, status, updatedAt, definition };
    return { id, name: name ?? now?.name ?? null, kind, before, after: now, note };
  };
  if (one.ours) {
    if (!done) return effect('others', `changed by another client after this ${action}`);
    if (!one.planned) return effect('unplanned', 'matched only after the plan was made');
    if (one.again) return effect('affected', `another client reverted this ${action}; it was repeated`);
    return effect('affected', now && isRedefined(one, now) ? 'also changed by another client' : null);
  }
  if (done) return effect('others', `${action} by another client`);
  if (now === null) return effect('others', 'deleted by another client');
  if (isChanged(one, now)) return effect('others', 'changed by another client');
  return effect('missed', 'matches, but was not affected');
}

export function summarizeEffects(effects: readonly MonitorEffect[], shown: number): BatchEffect {
  const count = (kind: MonitorEffect['kind']) => effects.filter((one) => one.kind === kind).length;
  return {
    affected: count('affected'),
    contested: effects.filter(({ kind, note }) => kind === 'affected' && note !== null).length,
    unplanned: count('unplanned'),
    missed: count('missed'),
    others: count('others'),
    examples: effects.filter(({ note }) => note !== null).slice(0, shown),
  };
}
