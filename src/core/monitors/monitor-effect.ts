import type { MonitorAction } from '../choices.js';
import type { BatchEffect, EffectKind, MonitorEffect, MonitorState } from '../workflow-result-schemas.js';
import { isChanged, isDone, isRedefined } from './monitor-batch.js';

/** A monitor of a batch, and the effects of the batch's calls. */
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

/** Sums up the effects of an ended batch. */
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
