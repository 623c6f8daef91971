import { setTimeout as delay } from 'node:timers/promises';
import { readJson } from '../../api/answer/read-json.js';
import type { RawList } from '../../api/answer/read-raw-list.js';
import type { EventFilter } from '../../api/endpoints/events.js';
import type { EventWindow } from '../../core/events/event-warehouse.js';
import {
  advance,
  expiredCursor,
  isCircle,
  type PageFacts,
  startWalk,
  WalkError,
  type WalkState,
} from '../../core/events/walk.js';
import type { Walk, WalkHeartbeat } from '../../core/events/walk-job.js';
import { coveredMs, halve, type Span, splitSpan } from '../../core/events/walk-window.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import type { WalkDeps } from '../base/deps.js';
import { isApiError } from '../call/failure.js';
import type { LoadingWindow } from './walk-loader.js';
import { fetchPage } from './walk-page.js';

/** Events a page: the most that the service gives (interface section 8). */
const PAGE_SIZE = 200;
/** Pages in a row that came before and lead on all the same: they are loaded once more, which changes nothing. */
const MAY_REPEAT = 3;
/** How often the page is asked for that leads nowhere new: a service may repeat itself by mistake. */
const TRIES = 4;
/** How many walks in a row may end in a circle, each over half of the one before, until nobody believes that the next would not. */
const MAX_CIRCLES = 3;

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Reads every envelope whole. */
  readonly careful: boolean;
  /** Whether a window that its first page shows to be heavy is split. */
  readonly splits: boolean;
  /** Whether there is time for another page. */
  goesOn(): boolean;
  /** Whether to read the times of a page, for people to see how far it is: a page is not parsed otherwise. */
  looks(): boolean;
  told(changes: Partial<Pick<WalkHeartbeat, 'pages' | 'waitingFor' | 'coveredMs'>>): void;
}

export interface Walked {
  /** Where the walk stands behind the last page that was handed over. */
  readonly walked: WalkState;
  /** What the window is to be replaced by, null where it stays; and where the walk of each part begins. */
  readonly parts: readonly Span[] | null;
  readonly begin?: WalkState;
}

/**
 * Walks a window from where it stands, and hands each page over. Ends with its last page, when time is up or it is cancelled;
 * or with the parts of a window that is too heavy, or whose cursor is of no use any more. Rejects when what came has landed.
 */
export async function walkOn(
  deps: WalkDeps,
  walk: Walk,
  window: EventWindow,
  loading: LoadingWindow,
  options: WalkOptions,
): Promise<Walked> {
  const { signal, careful, told } = options;
  let state = window.walk;
  const waits = (waitingFor: string | null) => told({ waitingFor });
  /** The next page, and where the walk stands behind it. */
  const ask = async (): Promise<[RawList, WalkState]> => {
    for (let tries = 1; ; tries++) {
      const { memory } = loading;
      const page = await fetchPage(deps, queryOf(walk, window, state.cursor), { signal, careful, waits, memory });
      try {
        return [page, advance(state, factsOf(page), MAY_REPEAT)];
      } catch (error) {
        memory.giveBack(page.items);
        if (!isCircle(error) || tries === TRIES) throw error;
        await delay(backoffMs(tries - 1, 100, 60_000, Math.random()), undefined, { signal });
      }
    }
  };
  try {
    while (!state.done && options.goesOn()) {
      const [page, next] = await ask();
      const splits = state.pages === 0 && options.splits;
      const times = splits || options.looks() ? timesOf(page) : [];
      if (splits) {
        const parts = splitSpan(window, { hasMore: page.cursor !== null, times });
        if (parts) return { walked: state, parts, begin: startWalk(null, state.circles) };
      }
      await loading.put({ page: next.pages, events: page.items }, next);
      state = next;
      const covered = coveredMs(window, times);
      told({ pages: state.pages, ...(covered === null ? {} : { coveredMs: covered }) });
    }
    return { walked: state, parts: null };
  } catch (error) {
    if (signal.aborted) return { walked: state, parts: null };
    await loading.landed();
    const anew = beginAnew(error, state, window);
    if (anew === null) throw error;
    return { walked: state, ...anew };
  }
}

/** The window once more from its beginning, in halves where it can be cut; null where that would mend nothing. */
function beginAnew(error: unknown, state: WalkState, window: EventWindow): Required<Omit<Walked, 'walked'>> | null {
  const problem =
    error instanceof WalkError ? error : isApiError(error) ? expiredCursor(state, error.facts, error) : null;
  if (problem === null) return null;
  const { from, to } = window;
  const parts = halve(window) ?? [{ from, to }];
  const circles = isCircle(problem) ? (state.circles ?? 0) + 1 : 0;
  // What went wrong from beginning to end in one go, and can't be cut, would go wrong again.
  const mends = parts.length > 1 || window.walk.pages > 0;
  if (circles === MAX_CIRCLES || (circles > 0 && !mends)) throw inCircles(problem, window);
  if (!mends) throw problem;
  return { parts, begin: startWalk(null, circles) };
}

function inCircles({ problem, pages }: WalkError, { from, to }: Span): WalkError {
  const since = from === null ? '' : `from ${new Date(from).toISOString()} `;
  const message = `the service’s list of events ${since}to ${new Date(to).toISOString()} goes in a circle: a page or cursor comes again however often the next one is asked for; what came before is loaded, and the same command goes on once the service gives further pages`;
  return new WalkError(problem, message, pages);
}

function queryOf({ types }: Walk, { from, to }: Span, cursor: string | null): EventFilter {
  return {
    limit: PAGE_SIZE,
    createdBefore: new Date(to).toISOString(),
    ...(from === null ? {} : { createdAfter: new Date(from).toISOString() }),
    ...(types.length > 0 ? { types: [...types] } : {}),
    ...(cursor === null ? {} : { cursor }),
  };
}

/** As much of each end of a page as tells it apart: an event's id is at its beginning. */
const PRINT = 1024;

function factsOf({ items, hasMore, cursor }: RawList): PageFacts {
  const bytes = Buffer.from(items.buffer, items.byteOffset, items.byteLength);
  const ends = bytes.toString('latin1', 0, PRINT) + bytes.toString('latin1', Math.max(0, bytes.length - PRINT));
  // The warehouse counts them.
  return {
    items: 0,
    hasMore,
    cursor,
    print: /^\[\s*\]$/.test(ends.slice(0, PRINT)) ? null : `${bytes.length} ${ends}`,
  };
}

/** Times of the events of a page in its order, Unix ms; those that can't be read are left out. What is no list, the warehouse refuses. */
function timesOf({ items }: RawList): number[] {
  const read = readJson(Buffer.from(items), true);
  const events: unknown = 'value' in read ? read.value : null;
  if (!Array.isArray(events)) return [];
  return events
    .map((event: unknown) => {
      const at: unknown = typeof event === 'object' && event !== null && 'createdAt' in event ? event.createdAt : null;
      return typeof at === 'string' ? Date.parse(at) : Number.NaN;
    })
    .filter((at) => Number.isFinite(at));
}
