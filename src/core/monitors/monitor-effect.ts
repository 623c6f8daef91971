import {
  type BatchProgress,
  isChanged,
  isDone,
  isRedefined,
  type MonitorAction,
  type MonitorState,
} from './monitor-batch.js';

/** A monitor of the plan, and what has come of it. */
export interface PlannedMonitor extends MonitorState {
  /** False: a call affected it though it was not in the plan. */
  readonly planned: boolean;
  /** Our call did it, as the service told or a look showed. */
  readonly ours: boolean;
  /** A later call of ours did it once more. */
  readonly again: boolean;
}

export type EffectKind = 'affected' | 'unplanned' | 'missed' | 'others';

/** What has come of one monitor, by the lists before and after. */
export interface MonitorEffect {
  readonly id: string;
  readonly name: string | null;
  readonly kind: EffectKind;
  readonly before: MonitorState;
  /** Null: it is gone. */
  readonly after: MonitorState | null;
  /** A sentence, where it is not as planned. */
  readonly note: string | null;
}

/** Compares a monitor of the plan with what it is now. Somebody else acted where it changed without our call. */
export function effectOf(action: MonitorAction, one: PlannedMonitor, now: MonitorState | null): MonitorEffect {
  const done = isDone(action, now);
  const effect = (kind: EffectKind, note: string | null): MonitorEffect => {
    const { id, name, status, updatedAt, definition } = one;
    const before = { id, name, status, updatedAt, definition };
    return { id, name: name ?? now?.name ?? null, kind, before, after: now, note };
  };
  if (one.ours) {
    if (!done) return effect('others', `changed again by somebody else after this ${action}`);
    if (!one.planned) return effect('unplanned', 'matched only after the plan was made');
    if (one.again) return effect('affected', `somebody else undid this ${action} meanwhile, and it was done again`);
    return effect('affected', now && isRedefined(one, now) ? 'changed by somebody else meanwhile' : null);
  }
  if (done) return effect('others', `somebody else's ${action}`);
  if (now === null) return effect('others', 'deleted by somebody else');
  if (isChanged(one, now)) return effect('others', 'changed by somebody else');
  return effect('missed', 'not affected though it matches');
}

/** The effect of a batch: counts by kind, and monitors that did not go as planned. */
export interface BatchEffect {
  readonly affected: number;
  /** Monitors among these that somebody else changed, too, between the plan and the end. */
  readonly contested: number;
  readonly unplanned: number;
  readonly missed: number;
  readonly others: number;
  readonly examples: readonly MonitorEffect[];
}

/** What a finished batch tells of its effect, from all its lines. */
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

/** Result of the `batchMonitors` workflow. */
export interface BatchSummary extends BatchProgress {
  readonly into: string;
  /** Null where nothing was to be done or it was not approved. */
  readonly effect: BatchEffect | null;
}
