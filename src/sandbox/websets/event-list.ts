import { badCursor } from '../base/refusal.js';
import type { EventHistory } from './event-history.js';
import type { EventType } from './story.js';

/** Query of the list of events; times in milliseconds, both inclusive. */
export interface EventQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly types: ReadonlySet<EventType> | null;
  readonly after: number;
  readonly before: number;
}

/**
 * Position in a list. With `paging: position`: the next event of the history and the next triggered event. With `paging:
 * offset`: the number of events to skip. `at`: the time when the cursor was made.
 */
interface Position {
  readonly next: number;
  readonly triggered: number;
  readonly skip: number;
  readonly at: number;
}

export interface EventPage {
  /** Numbers of the events, in the order of the list. */
  readonly events: readonly number[];
  readonly nextCursor: string | null;
}

/** One page of the list of events. The options of the history decide its order and paging. */
export function eventPage(history: EventHistory, query: EventQuery): EventPage {
  const { now, options, timeline } = history;
  const end = timeline.countAt(now);
  const first = timeline.firstAt(query.after, end);
  const afterLast = timeline.firstAt(query.before + 1, end);
  const triggered = history.triggered.filter(({ at }) => at >= query.after && at <= query.before);
  const isNewest = options.order === 'newest';
  const start = isNewest ? { next: afterLast - 1, triggered: triggered.length - 1 } : { next: first, triggered: 0 };
  const cursor = query.cursor === undefined ? null : readCursor(query.cursor, now, options.cursorTtlMs);
  const from = cursor && options.paging === 'position' ? cursor : start;
  const step = isNewest ? -1 : 1;
  let next = isNewest ? Math.min(from.next, afterLast - 1) : Math.max(from.next, first);
  let other = from.triggered;
  let skip = cursor && options.paging === 'offset' ? cursor.skip : 0;
  const skipped = skip;
  const events: number[] = [];
  for (;;) {
    const mine = next >= first && next < afterLast ? next : null;
    const theirs = triggered[other];
    if (mine === null && !theirs) return { events, nextCursor: null };
    const at = mine === null ? 0 : timeline.timeOf(mine);
    // A triggered event counts as later than an event of the history with the same time, in both orders of the list.
    const isTheirs = theirs && (mine === null || (isNewest ? theirs.at >= at : theirs.at < at));
    const event = isTheirs ? theirs.event : (mine as number);
    const passes =
      (query.types === null || query.types.has(history.typeOf(event))) && (isTheirs || history.isSeen(event, at, now));
    if (passes && skip > 0) skip -= 1;
    else if (passes) {
      if (events.length === query.limit) {
        return { events, nextCursor: toCursor({ next, triggered: other, skip: skipped + events.length, at: now }) };
      }
      events.push(event);
    }
    if (isTheirs) other += step;
    else next += step;
  }
}

function toCursor({ next, triggered, skip, at }: Position): string {
  return Buffer.from(`events:${next}:${triggered}:${skip}:${at}`).toString('base64url');
}

function readCursor(cursor: string, now: number, ttlMs: number | null): Position {
  const found = /^events:(-?\d+):(-?\d+):(\d+):(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (!found) throw badCursor();
  const [next, triggered, skip, at] = found.slice(1).map(Number) as [number, number, number, number];
  if (ttlMs !== null && now - at > ttlMs) throw badCursor('expired');
  return { next, triggered, skip, at };
}
