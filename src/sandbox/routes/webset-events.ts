import { z } from 'zod';
import { badCursor, checkQuery, listQueryOf, Refusal } from '../base/refusal.js';
import { plainRoute, type Route, type Routes } from '../route.js';
import type { EventHistory } from '../websets/event-history.js';
import { eventTypes } from '../websets/story.js';

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();
const listQuery = listQueryOf(200, 25, {
  types: z.array(z.enum(eventTypes)).optional(),
  createdAfter: time,
  createdBefore: time,
});

/** `GET /websets/v0/events`: a page of the history. The parameter for types may be repeated; both times are inclusive. */
const listEvents: Route = (_input, { history }, { query }) => {
  const asked = checkQuery(listQuery, query, ['types']);
  return () => {
    const { events, nextCursor } = eventPage(history, asked);
    const data = events.map((event) => history.record(event));
    return { body: asciiJson({ data, hasMore: nextCursor !== null, nextCursor }) };
  };
};

/** JSON in ASCII only, which takes one byte a letter. */
function asciiJson(value: unknown): Buffer {
  const text = JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(text, 'latin1');
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

/** One page of the list of events. The options of the history decide its order and paging. */
function eventPage(
  history: EventHistory,
  query: z.infer<typeof listQuery>,
): { readonly events: readonly number[]; readonly nextCursor: string | null } {
  const { now, options, timeline } = history;
  const { createdAfter: after = Number.NEGATIVE_INFINITY, createdBefore: before = Number.MAX_SAFE_INTEGER } = query;
  const end = timeline.countAt(now);
  const first = timeline.firstAt(after, end);
  const afterLast = timeline.firstAt(before + 1, end);
  const triggered = history.triggered.filter(({ at }) => at >= after && at <= before);
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
      (query.types?.includes(history.typeOf(event)) ?? true) && (isTheirs || history.isSeen(event, at, now));
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

export const eventRoutes: Routes = {
  'GET /websets/v0/events': { route: listEvents },
  'GET /websets/v0/events/:id': {
    route: plainRoute(({ history }, { id }) => {
      const event = history.find(id);
      if (event === null) throw new Refusal(404, 'NOT_FOUND', `There is no event ${id}`);
      return history.record(event);
    }),
  },
};
