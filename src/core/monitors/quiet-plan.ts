import type { MonitorState } from './monitor-batch.js';
import { isPutBack, type QuietHours, quietAt } from './quiet-hours.js';

/** How far a schedule of quiet hours is. */
export interface QuietMark {
  /** Date on which the hours began that it is at. */
  readonly window: string;
  /** `beginning`: monitors are being paused; `begun`: all are; `ended`: they are put back. */
  readonly state: 'beginning' | 'begun' | 'ended';
}

/** A monitor that a schedule paused, or is about to. */
export interface QuietMonitor {
  readonly id: string;
  readonly name: string | null;
  /** The hours it was paused for, by the date they began. */
  readonly window: string;
  /** `pausing` and `unpausing` are written before the call is made, so that a crash can't hide what it did. */
  readonly state: 'pausing' | 'paused' | 'unpausing';
  /** `updatedAt` before our call. */
  readonly before: string | null;
  /** `updatedAt` behind our pause. */
  readonly after: string | null;
  /** Who paused it though it was paused already, and so wants it to stay paused. */
  readonly keptBy: string | null;
}

/** What a turn of a schedule is to do, with the hours it is of. */
export type QuietTurn = { readonly do: 'begin' | 'end'; readonly window: string } | { readonly do: 'nothing' };

/**
 * What is to be done now. Pure: the same for a turn that comes late, twice or instead of another, so a change of the clocks can't
 * make it act twice. Hours that have ended are not begun again; hours that passed unseen are left out.
 */
export function quietTurn(now: number, hours: QuietHours, mark: QuietMark | null): QuietTurn {
  const window = quietAt(now, hours);
  const open = mark !== null && mark.state !== 'ended';
  if (window === null)
    return open && !isPutBack(now, hours, mark.window) ? { do: 'end', window: mark.window } : { do: 'nothing' };
  if (mark?.window === window) return mark.state === 'beginning' ? { do: 'begin', window } : { do: 'nothing' };
  return { do: 'begin', window };
}

/** A monitor that other quiet hours hold paused. */
export interface HeldMonitor extends Pick<QuietMonitor, 'id' | 'after' | 'keptBy'> {
  /** Name of these hours. */
  readonly schedule: string;
}

/**
 * What is to be done to a monitor when quiet hours begin. `adopt`: our pause of before was not seen to its end. `join`: other quiet
 * hours paused it, and whichever end last put it back.
 */
export type BeginStep = 'pause' | 'adopt' | 'join' | 'nothing';

/** `known`: what is remembered of the monitor; `held`: what other quiet hours remember of it. */
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
  // Paused for these hours and active again: a person wants it to run.
  return isActive && known?.window !== window ? 'pause' : 'nothing';
}

/** What is to be done to a remembered monitor when quiet hours end; with a sentence where it is left alone. */
export type EndStep = { readonly do: 'unpause' } | { readonly do: 'forget'; readonly why: string | null };

/** `now` is null where the monitor is gone. */
export function endStep(known: QuietMonitor, now: MonitorState | null): EndStep {
  const forget = (why: string | null): EndStep => ({ do: 'forget', why });
  if (now === null) return forget('it was deleted');
  const { state, before, after, keptBy } = known;
  // Our own call came through, or never did: either way it runs.
  if (now.status === 'active' && state !== 'paused') return forget(null);
  if (now.status !== 'paused') return forget(`somebody changed it since: its status is ${now.status}`);
  // It was paused by somebody else before our call was made.
  if (state === 'pausing' && now.updatedAt === before) return forget(null);
  if (state !== 'pausing' && now.updatedAt !== after) return forget('somebody changed it since');
  return keptBy === null ? { do: 'unpause' } : forget(`${keptBy} paused it, too`);
}
