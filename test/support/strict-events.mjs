// A service of webset events that judges for itself: nothing of ours is in it. Events follow from their number and are not kept;
// its clock can be moved. Its list has what real ones have: either order, equal times, events that arrive while it is paged and some
// that show up late, pages that repeat records, pages given twice, cursors that expire.
import { createServer } from 'node:http';

const PER_WEBSET = 40;
const PER_MONITOR_WEBSETS = 7;
const known = new Set(['limit', 'cursor', 'createdBefore', 'createdAfter', 'types']);

/** The same number for the same number, as if by chance: 0 to 2^32. */
function mix(number) {
  let hash = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export async function startStrictEvents({
  count = 20_000,
  from = Date.UTC(2025, 0, 1),
  to = Date.UTC(2025, 11, 31),
  order = 'newest',
  /** Events that share a moment. */
  together = 5,
  arrivingPerSecond = 20,
  late = 0.1,
  lateMs = 120_000,
  /** Every so many answers begins with records of the page before; is the page before once more; none with 0. */
  repeatRecords = 0,
  repeatPage = 0,
  cursorTtlMs = null,
  latencyMs = 0,
  /** Requests let in in any second. */
  qps = null,
} = {}) {
  const start = Date.now();
  let skew = 0;
  let frozenAt = null;
  let requests = 0;
  const admittedAt = { first: null, last: null, count: 0 };
  let pages = 0;
  let refused = 0;
  let admitted = [];
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

  function dataOf(index) {
    const webset = Math.floor(index / PER_WEBSET);
    const step = index % PER_WEBSET;
    const first = webset * PER_WEBSET;
    const [createdAt, updatedAt] = [iso(first), iso(index)];
    const id = `webset_${webset}`;
    const search = {
      id: `search_${webset}`,
      object: 'webset_search',
      websetId: id,
      status: step < 35 ? 'running' : 'completed',
      query: `companies number ${webset} that make "things" — 東京`,
      count: 16,
      progress: { found: Math.min(16, step), analyzed: step * 3, completion: Math.min(100, step * 3) },
      createdAt,
      updatedAt,
    };
    const monitor = {
      id: `monitor_${webset}`,
      object: 'monitor',
      websetId: id,
      status: 'enabled',
      cadence: { cron: '0 0 * * *', timezone: 'UTC' },
      lastRun: {
        id: `run_${webset}`,
        object: 'monitor_run',
        monitorId: `monitor_${webset}`,
        status: 'running',
        updatedAt,
      },
      createdAt,
      updatedAt,
    };
    const whole = {
      id,
      object: 'webset',
      status: step === 36 ? 'idle' : 'running',
      title: `Webset ${webset}`,
      searches: [search],
      enrichments: [
        { id: `enrichment_${webset}`, object: 'webset_enrichment', websetId: id, status: 'pending', updatedAt },
      ],
      monitors: webset % PER_MONITOR_WEBSETS === 0 ? [monitor] : [],
      createdAt,
      updatedAt,
    };
    if (step === 0) return ['webset.created', whole];
    if (step === 1) return ['webset.search.created', search];
    if (step === 34) return ['webset.search.updated', search];
    if (step === 35) return ['webset.search.completed', search];
    if (step === 36) return ['webset.idle', whole];
    if (step === 37) return ['monitor.created', monitor];
    if (step === 38) return [webset % 11 === 0 ? 'webset.merged' : 'webset.paused', whole];
    if (step === 39)
      return webset % 5 === 0
        ? ['webset.deleted', whole]
        : ['monitor.run.completed', { ...monitor.lastRun, status: 'completed' }];
    const item = step >> 1;
    const enriched = step % 2 === 1;
    return [
      enriched ? 'webset.item.enriched' : 'webset.item.created',
      {
        id: `item_${webset}_${item}`,
        object: 'webset_item',
        websetId: id,
        source: 'search',
        sourceId: search.id,
        properties: {
          type: 'company',
          url: `https://site-${item}.example/${webset}`,
          description: 'It makes things. '.repeat(20),
        },
        enrichments: enriched
          ? [
              {
                object: 'enrichment_result',
                enrichmentId: `enrichment_${webset}`,
                status: 'completed',
                format: 'text',
                result: [`${index}`],
              },
            ]
          : [],
        createdAt: iso(first + item * 2),
        updatedAt,
      },
    ];
  }

  const eventOf = (index) => {
    const [type, data] = dataOf(index);
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

  function answer(url, headers) {
    const query = url.searchParams;
    const bad = (error) => [400, { error, tag: 'INVALID_REQUEST' }];
    if (headers['x-api-key'] === undefined) return [401, { error: 'no key', tag: 'INVALID_API_KEY' }];
    if (url.pathname !== '/websets/v0/events') return [404, { error: 'no such thing', tag: 'NOT_FOUND' }];
    if (qps !== null) {
      admitted = admitted.filter((at) => at > performance.now() - 1000);
      if (admitted.length >= qps) {
        refused++;
        return [429, { error: 'too many', tag: 'RATE_LIMITED' }];
      }
      admitted.push(performance.now());
    }
    for (const name of query.keys()) if (!known.has(name)) return bad(`${name} is no parameter`);
    const limit = Number(query.get('limit') ?? 25);
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= 200)) return bad('limit is 1 to 200');
    const [after, before] = ['createdAfter', 'createdBefore'].map((name) => Date.parse(query.get(name) ?? ''));
    const low = Number.isNaN(after) ? 0 : firstAt(after);
    const high = Number.isNaN(before) ? length() : firstAt(before + 1);
    const types = query.has('types') ? new Set(query.getAll('types').flatMap((type) => type.split(','))) : null;
    let at = order === 'newest' ? high - 1 : low;
    let previous = null;
    const nth = ++pages;
    if (query.has('cursor')) {
      const found = /^(-?\d+) (-?\d+) (\d+)/.exec(Buffer.from(query.get('cursor'), 'base64url').toString());
      if (!found) return bad('that is no cursor');
      if (cursorTtlMs !== null && now() - Number(found[3]) > cursorTtlMs) return bad('the cursor expired');
      at = Number(found[1]);
      previous = Number(found[2]);
    }
    const cursorTo = (next, of) => Buffer.from(`${next} ${of} ${now()} ${nth}`).toString('base64url');
    if (previous !== null && repeatPage > 0 && nth % repeatPage === 0) {
      const { data } = read(previous, low, high, limit, types);
      return [200, { data, hasMore: true, nextCursor: cursorTo(at, previous) }];
    }
    if (previous !== null && repeatRecords > 0 && nth % repeatRecords === 0) {
      at = order === 'newest' ? Math.min(high - 1, at + 20) : Math.max(low, at - 20);
    }
    const page = read(at, low, high, limit, types);
    return [200, { data: page.data, hasMore: page.hasMore, nextCursor: page.hasMore ? cursorTo(page.next, at) : null }];
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    requests++;
    const [status, body] = answer(new URL(request.url, 'http://x'), request.headers);
    if (status !== 429) {
      admittedAt.first ??= performance.now();
      admittedAt.last = performance.now();
      admittedAt.count++;
    }
    const send = () => {
      response.writeHead(status, {
        'content-type': 'application/json',
        date: new Date(now()).toUTCString(),
        ...(status === 429 ? { 'retry-after': '1' } : {}),
      });
      response.end(JSON.stringify(body));
    };
    if (latencyMs > 0) setTimeout(send, latencyMs);
    else send();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: () => requests,
    refused: () => refused,
    /** Requests that were let in a second, from the first to the last. */
    rate: () => ((admittedAt.count - 1) * 1000) / (admittedAt.last - admittedAt.first),
    now,
    /** No more events happen. */
    freeze: () => {
      frozenAt ??= now();
    },
    /** Moves its clock ahead. */
    advance: (ms) => {
      frozenAt ??= now();
      skew += ms;
    },
    /** Ids of everything that has happened, and the time of the newest, Unix ms. */
    ids: () => Array.from({ length: length() }, (_, index) => idOf(index)),
    newest: () => timeOf(length() - 1),
    /** The same with the times at which they happened and from which they are seen, Unix ms. */
    happened: () =>
      Array.from({ length: length() }, (_, index) => ({ id: idOf(index), at: timeOf(index), seenAt: seenFrom(index) })),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}
