// The list of webset events. They follow from their number and are not kept; the clock can be moved. The list has what real ones
// have: either order, equal times, events that arrive while it is paged and some that show up late, pages that repeat records, pages
// given twice, cursors that expire.
import { mix } from './chance.mjs';
import { Refused } from './refused.mjs';
import { eventData } from './webset-data.mjs';

const known = new Set(['limit', 'cursor', 'createdBefore', 'createdAfter', 'types']);

export function websetEvents({
  count = 20_000,
  from = Date.UTC(2025, 0, 1),
  to = Date.UTC(2025, 11, 31),
  order = 'newest',
  /** Events that share a moment. */
  together = 5,
  arrivingPerSecond = 20,
  /** Part of the events that show up later than they happen, and by how much at most. */
  late = 0.1,
  lateMs = 120_000,
  /** Every so many answers begins with records of the page before; is the page before once more; none with 0. */
  repeatRecords = 0,
  repeatPage = 0,
  cursorTtlMs = null,
}) {
  const start = Date.now();
  let skew = 0;
  let frozenAt = null;
  let pages = 0;
  const gap = ((to - from) / count) * together;
  const now = () => Date.now() + skew;

  /** How many events have happened. */
  const length = () => count + Math.floor((((frozenAt ?? now()) - start) / 1000) * arrivingPerSecond);
  const timeOf = (index) =>
    index < count
      ? Math.floor(from + Math.floor(index / together) * gap)
      : Math.floor(start + ((index - count + 1) * 1000) / arrivingPerSecond);
  const seenFrom = (index) => {
    const hash = mix(index);
    return timeOf(index) + (hash % 1000 < late * 1000 ? 1 + (hash % lateMs) : 0);
  };
  /** Number of the first event at or after a time. */
  const firstAt = (time) => {
    let [low, high] = [0, length()];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeOf(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const iso = (index) => new Date(timeOf(index)).toISOString();
  const idOf = (index) => `event_${mix(index).toString(36)}_${index}`;
  const eventOf = (index) => {
    const [type, data] = eventData(index, iso);
    return { id: idOf(index), object: 'event', type, data, createdAt: iso(index) };
  };

  /** A page from the event `at` on, in the direction of the list; `types`: null for all. */
  function read(at, low, high, limit, types) {
    const step = order === 'newest' ? -1 : 1;
    const seenAt = now();
    const data = [];
    let index = at;
    for (; index >= low && index < high && data.length < limit; index += step) {
      if (seenFrom(index) > seenAt) continue;
      const event = eventOf(index);
      if (types === null || types.has(event.type)) data.push(event);
    }
    return { data, next: index, hasMore: index >= low && index < high };
  }

  function list({ url: { searchParams: query } }) {
    const bad = (message) => new Refused(400, 'INVALID_REQUEST', message);
    for (const name of query.keys()) if (!known.has(name)) throw bad(`${name} is no parameter`);
    const limit = Number(query.get('limit') ?? 25);
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= 200)) throw bad('limit is 1 to 200');
    const [after, before] = ['createdAfter', 'createdBefore'].map((name) => Date.parse(query.get(name) ?? ''));
    const low = Number.isNaN(after) ? 0 : firstAt(after);
    const high = Number.isNaN(before) ? length() : firstAt(before + 1);
    const types = query.has('types') ? new Set(query.getAll('types').flatMap((type) => type.split(','))) : null;
    let at = order === 'newest' ? high - 1 : low;
    let previous = null;
    const nth = ++pages;
    if (query.has('cursor')) {
      const found = /^(-?\d+) (-?\d+) (\d+)/.exec(Buffer.from(query.get('cursor'), 'base64url').toString());
      if (!found) throw bad('that is no cursor');
      if (cursorTtlMs !== null && now() - Number(found[3]) > cursorTtlMs) throw bad('the cursor expired');
      at = Number(found[1]);
      previous = Number(found[2]);
    }
    const cursorTo = (next, of) => Buffer.from(`${next} ${of} ${now()} ${nth}`).toString('base64url');
    if (previous !== null && repeatPage > 0 && nth % repeatPage === 0) {
      const { data } = read(previous, low, high, limit, types);
      return { data, hasMore: true, nextCursor: cursorTo(at, previous) };
    }
    if (previous !== null && repeatRecords > 0 && nth % repeatRecords === 0) {
      at = order === 'newest' ? Math.min(high - 1, at + 20) : Math.max(low, at - 20);
    }
    const page = read(at, low, high, limit, types);
    return { data: page.data, hasMore: page.hasMore, nextCursor: page.hasMore ? cursorTo(page.next, at) : null };
  }

  const all = (each) => Array.from({ length: length() }, (_, index) => each(index));
  return {
    refusal: (code, message) => ({ error: message, tag: code }),
    routes: [
      {
        ...{ method: 'GET', path: /^\/websets\/v0\/events$/, kind: 'events', act: list },
        // The service's own clock, which callers go by.
        headers: () => ({ date: new Date(now()).toUTCString() }),
      },
    ],
    control: {
      now,
      /** No more events happen. */
      freeze: () => {
        frozenAt ??= now();
      },
      /** Moves the clock ahead. */
      advance: (ms) => {
        frozenAt ??= now();
        skew += ms;
      },
      /** Ids of everything that has happened, and the time of the newest, Unix ms. */
      ids: () => all(idOf),
      newest: () => timeOf(length() - 1),
      /** The same with the times at which they happened and from which they are seen, Unix ms. */
      happened: () => all((index) => ({ id: idOf(index), at: timeOf(index), seenAt: seenFrom(index) })),
    },
  };
}
