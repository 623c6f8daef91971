import type { EventFilter } from '../api/events.js';
import type { RawList } from '../api/read-raw-list.js';
import type { EventWindow } from '../core/event-warehouse.js';
import { advance, expiredCursor, type PageFacts, WalkError, type WalkState } from '../core/walk.js';
import type { Walk } from '../core/walk-job.js';
import { halve, type Span, splitSpan } from '../core/walk-window.js';
import { isApiError } from './failure.js';
import type { WalkDeps } from './walk-deps.js';
import type { LoadingWindow } from './walk-loader.js';
import { fetchPage } from './walk-page.js';

/** Events a page: the most that the service gives (interface section 8). */
const PAGE_SIZE = 200;

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Reads every envelope whole. */
  readonly careful: boolean;
  /** Whether a window that its first page shows to be heavy is split. */
  readonly splits: boolean;
  /** Whether there is time for another page. */
  goesOn(): boolean;
  told(changes: { readonly pages?: number; readonly waitingFor?: string | null }): void;
}

export interface Walked {
  /** Where the walk stands behind the last page that was handed over. */
  readonly walked: WalkState;
  /** What the window is to be replaced by, null where it stays. */
  readonly parts: readonly Span[] | null;
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
  try {
    while (!state.done && options.goesOn()) {
      const page = await fetchPage(deps, queryOf(walk, window, state.cursor), {
        signal,
        careful,
        waits,
        memory: loading.memory,
      });
      if (state.pages === 0 && options.splits) {
        const parts = splitSpan(window, { hasMore: page.cursor !== null, times: timesOf(page) });
        if (parts) return { walked: state, parts };
      }
      const next = advance(state, factsOf(page));
      await loading.put({ page: next.pages, events: page.items }, next);
      state = next;
      told({ pages: state.pages });
    }
    return { walked: state, parts: null };
  } catch (error) {
    if (signal.aborted) return { walked: state, parts: null };
    await loading.landed();
    const parts = anew(error, state, window);
    if (parts === null) throw error;
    return { walked: state, parts };
  }
}

/** The window once more from its beginning, in halves where it can be cut; null where that would mend nothing. */
function anew(error: unknown, state: WalkState, window: EventWindow): readonly Span[] | null {
  const problem =
    error instanceof WalkError ? error : isApiError(error) ? expiredCursor(state, error.facts, error) : null;
  if (problem === null) return null;
  const { from, to } = window;
  const parts = halve(window) ?? [{ from, to }];
  // What went wrong from beginning to end in one go, and can't be cut, would go wrong again.
  if (parts.length === 1 && window.walk.pages === 0) throw problem;
  return parts;
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

/** Times of the events of a page, Unix ms; those that can't be read are left out. */
function timesOf({ items }: RawList): number[] {
  const events: unknown = JSON.parse(Buffer.from(items).toString());
  if (!Array.isArray(events)) return [];
  return events
    .map((event: unknown) => {
      const at: unknown = typeof event === 'object' && event !== null && 'createdAt' in event ? event.createdAt : null;
      return typeof at === 'string' ? Date.parse(at) : Number.NaN;
    })
    .filter((at) => Number.isFinite(at));
}
