// A service of agent runs that judges for itself: so many at once and no more, so many units in any second and no more, every start
// written down. Nothing of ours is in it. As a process: node test/support/strict-agents.mjs '{"slots":50,"qps":10}' prints its URL,
// answers GET /__log, and ends with its standard input.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const isOver = (run, now) => run.endsAt <= now;

/** Milliseconds between two bounds, by a generator that is the same every time. */
function drawing(seed) {
  let state = seed >>> 0;
  return ({ min, max }) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return min + (state / 2 ** 32) * (max - min);
  };
}

export async function startStrictAgents({
  slots = 50,
  qps = null,
  durationMs = { min: 100, max: 300 },
  seed = 1,
  echoesMetadata = true,
  endsAs = 'completed',
  costDollars = 0.25,
  clockMs = 0,
} = {}) {
  const draw = drawing(seed);
  const runs = new Map();
  const starts = [];
  const polls = [];
  const script = [];
  let admitted = [];
  let origin = 0;

  const inProgress = (now) => [...runs.values()].filter((run) => !isOver(run, now));
  const recordOf = (run, now) => {
    const over = isOver(run, now);
    const { metadata, ...rest } = run.request;
    return {
      id: run.id,
      object: 'agent_run',
      status: over ? run.status : 'running',
      stopReason: over ? (run.stopReason ?? 'schema_satisfied') : null,
      createdAt: clockMs === null ? null : new Date(run.wallAt + clockMs).toISOString(),
      completedAt: over ? new Date(run.wallAt + run.endsAt - run.startedAt).toISOString() : null,
      request: echoesMetadata ? run.request : rest,
      output:
        over && run.status === 'completed'
          ? { text: `of ${run.request.query}`, structured: null, grounding: [] }
          : null,
      usage: { agentComputeUnits: 1, searches: 2, emails: 0, phoneNumbers: 0 },
      costDollars: { total: over ? costDollars : 0 },
    };
  };
  const refusal = (code, message) => ({ error: { type: 'ERROR', code, message } });

  function create(body, now) {
    const start = { at: now, query: body.query, refused: null, id: null };
    starts.push(start);
    admitted = admitted.filter((at) => at > now - 1000);
    if (qps !== null && (admitted.length + 1) * 2 > qps) {
      start.refused = 'rate';
      start.earlyMs = admitted[0] + 1000 - now;
      return [429, refusal('RATE_LIMIT_EXCEEDED', 'too fast')];
    }
    admitted.push(now);
    if (inProgress(now).length >= slots) {
      start.refused = 'slots';
      return [429, refusal('CONCURRENCY_LIMIT_REACHED', `${slots} agent runs are in progress`)];
    }
    const id = `agent_run_${String(++origin).padStart(6, '0')}`;
    start.id = id;
    const endsAt = now + draw(durationMs);
    const run = {
      id,
      request: body,
      startedAt: now,
      wallAt: Date.now(),
      endsAt,
      status: endsAs,
      stopReason: null,
      reads: 0,
    };
    runs.set(id, run);
    return [200, recordOf(run, now), run];
  }

  function answer(method, path, query, body) {
    const now = performance.now();
    const [, , , id, action] = path.split('/');
    if (path === '/__log') return [200, report()];
    if (method === 'POST' && id === undefined) return create(body, now);
    if (id === undefined) {
      polls.push(now);
      const all = [...runs.values()].reverse();
      const from = query.get('cursor') ? all.findIndex((run) => run.id === query.get('cursor')) + 1 : 0;
      const limit = Number(query.get('limit') ?? 20);
      const page = all.slice(from, from + limit);
      const hasMore = from + limit < all.length;
      const nextCursor = hasMore ? page.at(-1).id : null;
      return [200, { object: 'list', data: page.map((run) => recordOf(run, now)), hasMore, nextCursor }];
    }
    const run = runs.get(id);
    if (!run) return [404, refusal('RUN_NOT_FOUND', `no run ${id}`)];
    if (method === 'DELETE') {
      runs.delete(id);
      return [200, { id, object: 'agent_run.deleted', deleted: true }];
    }
    if (action === 'events') return [200, { object: 'list', data: [], hasMore: false, nextCursor: null }];
    if ((action === 'cancel' || action === 'stop') && !isOver(run, now)) {
      Object.assign(
        run,
        action === 'stop' ? { stopReason: 'stopped' } : { status: 'cancelled', stopReason: 'cancelled' },
      );
      run.endsAt = now;
    }
    if (method === 'GET') {
      run.reads++;
      run.seenOverAt ??= isOver(run, now) ? now : undefined;
    }
    return [200, recordOf(run, now)];
  }

  /** What the service saw: its starts, and when each run began, ended and was first read as ended. */
  function report() {
    return {
      starts,
      runs: [...runs.values()].map(({ id, startedAt, endsAt, seenOverAt, request, status }) => ({
        id,
        startedAt,
        endsAt,
        seenOverAt: seenOverAt ?? null,
        query: request.query,
        status,
      })),
      polls: polls.length,
      now: performance.now(),
    };
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const url = new URL(request.url, 'http://service');
    const body = text === '' ? {} : JSON.parse(text);
    const isStart = request.method === 'POST' && url.pathname === '/agent/runs';
    const matches = ({ what }) => what === (isStart ? 'start' : request.method === 'POST' ? 'end' : 'look');
    const at = script.findIndex(matches);
    const [event] = at < 0 ? [] : script.splice(at, 1);
    // Cut before any work.
    if (event?.how === 'reset') return request.socket.destroy();
    if (event?.how === 'status') {
      response.writeHead(event.status, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(event.body));
    }
    const [status, record, run] = answer(request.method, url.pathname, url.searchParams, body);
    if (event?.how === 'hold') await new Promise((resolve) => event.until.then(resolve));
    // The work was done, and nobody is told, or something else.
    if (event?.how === 'lose') return request.socket.destroy();
    if (event?.how === 'named') {
      response.writeHead(500, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(refusal('TIMEOUT', `The run ${run.id} takes too long`)));
    }
    // Of another run: what was asked for runs all the same.
    if (event?.how === 'names') {
      response.writeHead(500, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(refusal('SERVER_ERROR', `Could not load the run ${event.id}`)));
    }
    if (event?.how === 'unnamed') {
      response.writeHead(500, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(refusal('SERVER_ERROR', 'Something went wrong')));
    }
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': `req-${starts.length}` });
    response.end(JSON.stringify(record));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    runs,
    starts,
    /** The next request of its kind (`start`, `end`, `look`) goes so. */
    next: (...events) => script.push(...events),
    inProgress: () => inProgress(performance.now()).length,
    report,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const service = await startStrictAgents(JSON.parse(process.argv[2] ?? '{}'));
  console.log(service.url);
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
}
