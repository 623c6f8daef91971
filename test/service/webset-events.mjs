// The list of webset events. Events are computed from their numbers, not stored, and the clock can be moved. As in a real list, events may
// have equal times, arrive during the reading, or be listed late; pages may repeat records or come twice; cursors may expire. The list has
// either order.
import { mix } from './chance.mjs';
import { Refused } from './refused.mjs';
import { eventData } from './webset-data.mjs';

const known = new Set(['limit', 'cursor', 'createdBefore', 'createdAfter', 'types']);

export function websetEvents({
  count = 20_000,
  from = Date.UTC(2025, 0, 1),
  to = Date.UTC(2025, 11, 31),
  order = 'newest',
  /** Number of events that have the same time. */
  together = 5,
  arrivingPerSecond = 20,
  /** `late`: share of the events that are listed after they happen. `lateMs`: the longest delay. */
  late = 0.1,
  lateMs = 120_000,
  /** One answer of this many begins with records of the page before (`repeatRecords`) or repeats that page (`repeatPage`); 0: none. */
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

  /** Number of events so far. */
  const length = () => count + Math.floor((((frozenAt ?? now()) - start) / 1000) * arrivingPerSecond);
  const timeOf = (index) =>
    index < count
      ? Math.floor(from + Math.floor(index / together) * gap)
      : Math.floor(start + ((index - count + 1) * 1000) / arrivingPerSecond);
  const seenFrom = (index) => {
    const hash = mix(index);
    return timeOf(index) + (hash % 1000 < late * 1000 ? 1 + (hash % lateMs) : 0);
  };
  /** Number of the first event at this time or later. */
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

  /** The page that begins with the event `at`, in the order of the list. `types`: the wanted types; null for all. */
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
    if (previous !== null && repeatRecords > 0 && nth % repeatRecords === 0)
      at = order === 'newest' ? Math.min(high - 1, at + 20) : Math.max(low, at - 20);
    const page = read(at, low, high, limit, types);
    return { data: page.data, hasMore: page.hasMore, nextCursor: page.hasMore ? cursorTo(page.next, at) : null };
  }

  const all = (each) => Array.from({ length: length() }, (_, index) => each(index));
  return {
    refusal: (code, message) => ({ error: message, tag: code }),
    routes: [
      {
        ...{ method: 'GET', path: /^\/websets\/v0\/events$/, kind: 'events', act: list },
        // The answers have the time of the service's clock, which callers use.
        headers: () => ({ date: new Date(now()).toUTCString() }),
      },
    ],
    control: {
      now,
      /** Moves the clock of the events forward. */
      advance: (ms) => {
        frozenAt ??= now();
        skew += ms;
      },
      /** `ids`: the ids of all events so far. `newest`: the time of the newest one, in Unix ms. */
      ids: () => all(idOf),
      newest: () => timeOf(length() - 1),
      /** For each event so far its id, its time, and the time from which the list has it, in Unix ms. */
      happened: () => all((index) => ({ id: idOf(index), at: timeOf(index), seenAt: seenFrom(index) })),
    },
  };
}
