import {
  DEFAULT_EVENT_WAREHOUSE,
  type OpenedWalk,
  streamOf,
  type Walk,
  type WalkCounts,
  type WalkInput,
  type WalkProgress,
  type WalkSummary,
  type WalkWindowResult,
} from '../../core/events/walk-job.js';
import type { Pause } from '../../core/rows/pause.js';
import { detailsText } from '../shared/details-text.js';
import { toRanges } from '../shared/range-queue.js';
import type { WindowedState } from '../shared/windowed-job.js';

/** The state of a walk that is kept across continue-as-new. */
export interface PageWalkState extends WindowedState, WalkCounts {
  readonly version: 1;
  readonly walk: Walk;
  /** Whether the windows are left from an earlier run. If so, there may be events that are newer than these windows. */
  readonly continues: boolean;
  readonly before: WalkCounts;
  /** When this run was opened, in Unix ms; the range of the run ends about a minute earlier. */
  readonly openedAt: number;
  readonly windowsDone: number;
  /** Length of all windows with a beginning, in ms. */
  readonly lengthMs: number;
  /** Length of the done windows, in ms. */
  readonly doneMs: number;
  /** `doneMs` when this run of the workflow began. */
  readonly doneBeforeMs: number;
}

/** The state of a newly opened walk. */
export function openedState(
  input: WalkInput,
  { walk, windows, continues, lengthMs, doneMs, before }: OpenedWalk,
  { startedAt, now, paused }: { readonly startedAt: number; readonly now: number; readonly paused: Pause | null },
): PageWalkState {
  return {
    version: 1,
    walk,
    queue: toRanges(windows),
    // Only a sync opens a further run; a backfill has only one.
    continues: continues && input.kind === 'sync',
    before,
    paused,
    startedAt,
    openedAt: now,
    resumedAt: now,
    windowsDone: 0,
    lengthMs,
    doneMs,
    doneBeforeMs: doneMs,
    ...{ pages: 0, events: 0, added: 0, changed: 0 },
  };
}

/**
 * Returns the changes of the state for the next run of a walk. `brought`: the counts of the earlier run, which the summary of the walk
 * includes.
 */
export function nextRun(
  { before, lengthMs, doneMs, openedAt }: PageWalkState,
  brought: WalkCounts,
): Partial<PageWalkState> {
  const less = (name: keyof WalkCounts) => before[name] - brought[name];
  return {
    before: { pages: less('pages'), events: less('events'), added: less('added'), changed: less('changed') },
    continues: false,
    ...{ lengthMs, doneMs, doneBeforeMs: doneMs, openedAt },
  };
}

/** Returns the changes of the state after one execution of a window. */
export function withResult(state: PageWalkState, result: WalkWindowResult): Partial<PageWalkState> {
  const { done, parts, lengthMs, partsMs, events } = result;
  // Windows before the first event are empty and take almost no time, so their length does not count.
  const empty = done && events === 0;
  return {
    pages: state.pages + result.pages,
    events: state.events + result.events,
    added: state.added + result.added,
    changed: state.changed + result.changed,
    windowsDone: state.windowsDone + (done ? 1 : 0),
    doneMs: state.doneMs + (done && !empty ? lengthMs : 0),
    lengthMs: state.lengthMs + (parts.length > 0 ? partsMs - lengthMs : empty ? -lengthMs : 0),
  };
}

/** The part of the length that must be done before the remaining time is estimated. The first windows may be empty, or end all at once. */
const ENOUGH_SHARE = 0.1;

/** Returns the figures of a walk's progress. `left`: number of windows that are not done; `now`: Unix ms. */
export function figuresOf(
  state: PageWalkState | null,
  left: number,
  now: number,
): Omit<WalkProgress, 'phase' | 'pausedFor' | 'message' | 'startedAt'> {
  if (!state) {
    return {
      stream: '',
      windows: 0,
      windowsDone: 0,
      share: null,
      lengthMs: 0,
      etaMs: null,
      ...{ pages: 0, events: 0, added: 0, changed: 0 },
    };
  }
  const { walk, windowsDone, lengthMs, doneMs, doneBeforeMs, startedAt, pages, events, added, changed } = state;
  const doneNowMs = doneMs - doneBeforeMs;
  const enough = doneNowMs > 0 && doneNowMs >= ENOUGH_SHARE * (lengthMs - doneBeforeMs);
  return {
    stream: walk.stream,
    windows: windowsDone + left,
    windowsDone,
    share: lengthMs > 0 ? doneMs / lengthMs : null,
    lengthMs,
    etaMs: enough ? Math.round(((lengthMs - doneMs) * (now - startedAt)) / doneNowMs) : null,
    ...{ pages, events, added, changed },
  };
}

/** Returns the state of a walk for Temporal's web UI (Markdown). */
export function walkDetails(progress: WalkProgress): string {
  const { stream, windows, windowsDone, share, events, added, changed } = progress;
  const part = share === null ? '' : ` (${Math.round(share * 100)}% of the time)`;
  return detailsText(`**${stream}**`, progress, [
    `${windowsDone} of ${windows} windows${part}, ${events} events read, ${added} new, ${changed} with newer contents`,
  ]);
}

/** The summary of a scheduled run that the service refused at its beginning. */
export function stoppedBefore(input: WalkInput, message: string): WalkSummary {
  return {
    stream: streamOf(input),
    into: input.into ?? DEFAULT_EVENT_WAREHOUSE,
    phase: 'stopped',
    message,
    watermark: null,
    ...{ windows: 0, pages: 0, events: 0, added: 0, changed: 0, seconds: 0 },
  };
}
