import { setTimeout as delay } from 'node:timers/promises';
import { readJson } from '../../api/answer/read-json.js';
import type { RawList } from '../../api/answer/read-raw-list.js';
import { type EventFilter, listEventsEndpoint } from '../../api/endpoints/events.js';
import { blockAfter } from '../../api/in-turn.js';
import { rateCostOf } from '../../api/wire/endpoint.js';
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
import type { BodyMemory } from '../../core/purchase/body-memory.js';
import { YIELD_AFTER_MS } from '../base/cancellation.js';
import type { WalkDeps } from '../base/deps.js';
import { waitForTurn } from '../base/free-call.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from '../call/circuit-breaker.js';
import { isApiError, MAX_MISSHAPEN } from '../call/failure.js';
import { longWaitFor } from '../purchase/purchase-stats.js';
import type { LoadingWindow } from './walk-loader.js';

/** Number of events in a page: the service's maximum. */
const PAGE_SIZE = 200;
/** The most consecutive pages that may repeat an earlier page. Loading a page again changes nothing. */
const MAY_REPEAT = 3;
/** Number of attempts at a page while its answers repeat an earlier cursor or page. The service may repeat a page by mistake. */
const TRIES = 4;
/** Consecutive pagination loops after which a walk fails. After each earlier loop the walk reads the window again, in halves. */
const MAX_CIRCLES = 3;

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Whether every field of every event is checked. */
  readonly careful: boolean;
  /** Whether a window is split when its first page shows many events. */
  readonly splits: boolean;
  /** Whether there is time for another page. */
  hasTime(): boolean;
  /** Whether the event times of a page are read for the progress. If false, the page is not parsed. */
  readsTimes(): boolean;
  report(changes: Partial<Pick<WalkHeartbeat, 'pages' | 'waitingFor' | 'coveredMs'>>): void;
}

export interface Walked {
  /** The state of the walk after the last page that was passed to the loader. */
  readonly walked: WalkState;
  /** The parts that replace the window; null if the window is not replaced. `begin`: the state in which the walk of each part begins. */
  readonly parts: readonly Span[] | null;
  readonly begin?: WalkState;
}

/**
 * Walks a window from its state and passes each page to the loader. Ends with the last page, when the time is up, or when cancelled. A
 * window with too many events or an unusable cursor ends with the parts that replace the window. If the walk fails, the function rejects
 * after all pages have landed.
 */
export async function walkOn(
  deps: WalkDeps,
  walk: Walk,
  window: EventWindow,
  loading: LoadingWindow,
  options: WalkOptions,
): Promise<Walked> {
  const { signal, careful, report } = options;
  let state = window.walk;
  const waits = (waitingFor: string | null) => report({ waitingFor });
  /** Requests the next page. Returns the page, and the state of the walk after that page. */
  const ask = async (): Promise<[RawList, WalkState]> => {
    for (let tries = 1; ; tries++) {
      const { memory } = loading;
      const page = await fetchPage(deps, queryOf(walk, window, state.cursor), {
        signal,
        careful,
        waits,
        space: memory,
      });
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
    while (!state.done && options.hasTime()) {
      const [page, next] = await ask();
      const splits = state.pages === 0 && options.splits;
      const times = splits || options.readsTimes() ? timesOf(page) : [];
      if (splits) {
        const parts = splitSpan(window, { hasMore: page.cursor !== null, times });
        if (parts) return { walked: state, parts, begin: startWalk(null, state.circles) };
      }
      await loading.put({ page: next.pages, events: page.items }, next);
      state = next;
      const covered = coveredMs(window, times);
      report({ pages: state.pages, coveredMs: covered ?? undefined });
    }
    return { walked: state, parts: null };
  } catch (error) {
    if (signal.aborted) return { walked: state, parts: null };
    await loading.landed();
    const restart = restartOf(error, state, window);
    if (restart === null) throw error;
    return { walked: state, ...restart };
  }
}

/**
 * Returns parts that restart the window from its beginning, in halves if the window can be split. Returns null if the error is not about
 * the list. Throws if a restart cannot help.
 */
function restartOf(error: unknown, state: WalkState, window: EventWindow): Required<Omit<Walked, 'walked'>> | null {
  const problem =
    error instanceof WalkError ? error : isApiError(error) ? expiredCursor(state, error.facts, error) : null;
  if (problem === null) return null;
  const { from, to } = window;
  const parts = halve(window) ?? [{ from, to }];
  const circles = isCircle(problem) ? (state.circles ?? 0) + 1 : 0;
  // A window that cannot be split and was already read from its beginning would fail again.
  const helps = parts.length > 1 || window.walk.pages > 0;
  if (circles === MAX_CIRCLES || (circles > 0 && !helps)) throw inCircles(problem, window);
  if (!helps) throw problem;
  return { parts, begin: startWalk(null, circles) };
}

function inCircles({ problem, pages }: WalkError, { from, to }: Span): WalkError {
  const since = from === null ? '' : `from ${new Date(from).toISOString()} `;
  const message = `pagination loop in the service's list of events ${since}to ${new Date(to).toISOString()}: the service keeps returning the same page or cursor. Events before it are loaded; run the same command to retry from there`;
  return new WalkError(problem, message, pages);
}

function queryOf({ types }: Walk, { from, to }: Span, cursor: string | null): EventFilter {
  return {
    limit: PAGE_SIZE,
    createdBefore: new Date(to).toISOString(),
    createdAfter: from === null ? undefined : new Date(from).toISOString(),
    types: types.length > 0 ? [...types] : undefined,
    cursor: cursor ?? undefined,
  };
}

/**
 * A page is identified by this many bytes from its beginning and from its end. The first bytes include an id, because an event begins with
 * its id.
 */
const PRINT = 1024;

function factsOf({ items, hasMore, cursor }: RawList): PageFacts {
  const bytes = Buffer.from(items.buffer, items.byteOffset, items.byteLength);
  const ends = bytes.toString('latin1', 0, PRINT) + bytes.toString('latin1', Math.max(0, bytes.length - PRINT));
  // The warehouse counts the events, so none are counted here.
  return {
    items: 0,
    hasMore,
    cursor,
    print: /^\[\s*\]$/.test(ends.slice(0, PRINT)) ? null : `${bytes.length} ${ends}`,
  };
}

/**
 * Returns the readable event times of a page in the order of the page, in Unix ms. Returns an empty list for a page that is not a list; the
 * warehouse refuses such a page.
 */
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

interface PageOptions {
  readonly signal: AbortSignal;
  readonly careful: boolean;
  /** The memory that the page is read into. */
  readonly space: BodyMemory;
  /** Called with the reason of a wait, and with null when the wait is over. */
  waits(reason: string | null): void;
}

/**
 * Requests one page in its turn of the team's rate. Retryable failures are retried here while the wait is short; longer waits are left to
 * Temporal. Rejects with `ApiError` or with the failure of a long wait.
 */
async function fetchPage(deps: WalkDeps, query: EventFilter, options: PageOptions): Promise<RawList> {
  const { transport, limiter } = deps;
  const rateCost = rateCostOf(listEventsEndpoint, query);
  /** Number of consecutive answers of another server, and of answers of the wrong shape. */
  let [unrecognized, misshapen] = [0, 0];
  for (let attempt = 0; ; attempt++) {
    // A turn usually comes within a second, so the block is not checked before the turn is requested.
    await waitForTurn(limiter, rateCost, { ...options, first: false });
    options.waits(null);
    const request = { at: Date.now() };
    const watch = setInterval(() => options.waits(longWaitFor([request], 'request', Date.now())), 1000);
    try {
      const page = await transport.sendRawList(listEventsEndpoint, query, options).finally(() => clearInterval(watch));
      options.waits(null);
      if (page.queued) limiter.queued(rateCost);
      return page;
    } catch (error) {
      if (!isApiError(error) || error.aborted) throw error;
      const { facts, message, verdict } = error;
      if (!verdict.retry && !(facts.wrongShape && ++misshapen < MAX_MISSHAPEN)) throw error;
      unrecognized = facts.unrecognized ? unrecognized + 1 : 0;
      if (unrecognized === MAX_UNRECOGNIZED) throw new ServiceUnrecognized(error, unrecognized);
      // A new attempt by Temporal would reset the count of answers by another server. So a wait after such an answer is kept short, and
      // this attempt continues.
      const most = facts.unrecognized ? YIELD_AFTER_MS / 2 : 60_000;
      const blockedMs = await blockAfter(error, { limiter, rateCost, refusals: attempt });
      const restMs = blockedMs ?? facts.retryAfterMs ?? backoffMs(attempt, 100, most, Math.random());
      if (restMs > YIELD_AFTER_MS) throw error;
      options.waits(message);
      if (blockedMs === null) await delay(restMs, undefined, { signal: options.signal });
    }
  }
}
