import type { MonitorState } from './monitor-batch.js';
import { isPutBack, type QuietHours, quietAt } from './quiet-hours.js';

/** The progress of quiet hours. */
export interface QuietMark {
  /** The date on which the quiet hours began. */
  readonly window: string;
  /**
   * `beginning`: monitors are being paused. `begun`: all monitors are paused. `ended`: the monitors are unpaused, except those that must
   * stay paused.
   */
  readonly state: 'beginning' | 'begun' | 'ended';
}

/** A monitor that quiet hours paused, or are about to pause. */
export interface QuietMonitor {
  readonly id: string;
  readonly name: string | null;
  /** Date on which the quiet hours that paused the monitor began. */
  readonly window: string;
  /** `pausing` and `unpausing` are written before the call, so that a crash cannot hide the effect of the call. */
  readonly state: 'pausing' | 'paused' | 'unpausing';
  /** `updatedAt` before our call. */
  readonly before: string | null;
  /** `updatedAt` after our pause. */
  readonly after: string | null;
  /** The person who also paused the monitor, so that the monitor must stay paused; null: none. */
  readonly keptBy: string | null;
}

/** The action of a run of quiet hours, and the date on which these hours began. */
export type QuietAction = { readonly do: 'begin' | 'end'; readonly window: string } | { readonly do: 'nothing' };

/**
 * Returns the action that is due now. Pure: late, repeated or skipped runs give the same result, so a change of the clocks cannot cause a
 * second action. Quiet hours that have ended are not begun again; quiet hours without any run are skipped.
 */
export function dueQuietAction(now: number, hours: QuietHours, mark: QuietMark | null): QuietAction {
  const window = quietAt(now, hours);
  const open = mark !== null && mark.state !== 'ended';
  if (window === null)
    return open && !isPutBack(now, hours, mark.window) ? { do: 'end', window: mark.window } : { do: 'nothing' };
  if (mark?.window === window) return mark.state === 'beginning' ? { do: 'begin', window } : { do: 'nothing' };
  return { do: 'begin', window };
}

/** A monitor that other quiet hours keep paused. */
export interface HeldMonitor extends Pick<QuietMonitor, 'id' | 'after' | 'keptBy'> {
  /** Name of the quiet hours that keep the monitor paused. */
  readonly schedule: string;
}

/**
 * The action on a monitor when quiet hours begin. `adopt`: an earlier pause of ours took effect, but the answer got lost. `join`: other
 * quiet hours have paused the monitor; the last quiet hours to end unpause it.
 */
export type BeginStep = 'pause' | 'adopt' | 'join' | 'nothing';

/** `known`: the record that these quiet hours have of the monitor; `held`: the record that other quiet hours have of the monitor. */
export function beginStep(
  now: MonitorState,
  known: QuietMonitor | null,
  window: string,
  held: HeldMonitor | null,
): BeginStep {
  const isActive = now.status === 'active';
  if (known?.state === 'pausing') {
    if (isActive) return 'pause';
    return now.status === 'paused' && now.updatedAt !== known.before ? 'adopt' : 'nothing';
  }
  const isTheirs = now.status === 'paused' && held !== null && now.updatedAt === held.after;
  if (isTheirs && known?.after !== held.after) return 'join';
  // The monitor was paused for these hours and is active again: a person unpaused it.
  return isActive && known?.window !== window ? 'pause' : 'nothing';
}

/** The action on a remembered monitor when quiet hours end. `why`: the reason for which the monitor is not changed; null: no report. */
export type EndStep = { readonly do: 'unpause' } | { readonly do: 'forget'; readonly why: string | null };

/** `now` is null where the monitor is gone. */
export function endStep(known: QuietMonitor, now: MonitorState | null): EndStep {
  const forget = (why: string | null): EndStep => ({ do: 'forget', why });
  if (now === null) return forget('it was deleted');
  const { state, before, after, keptBy } = known;
  // An active monitor needs no unpause, whether our own call took effect or not.
  if (now.status === 'active' && state !== 'paused') return forget(null);
  if (now.status !== 'paused') return forget(`another client changed it: its status is ${now.status}`);
  // Another client paused the monitor before our call.
  if (state === 'pausing' && now.updatedAt === before) return forget(null);
  if (state !== 'pausing' && now.updatedAt !== after) return forget('another client changed it');
  return keptBy === null ? { do: 'unpause' } : forget(`${keptBy} paused it, too`);
}
