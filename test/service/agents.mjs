// Agent runs, of which only a fixed number may be in progress. A start takes two units of the rate limit; a read takes none.
import { seeded } from './chance.mjs';
import { Refused } from './refused.mjs';

const isOver = (run, now) => run.endsAt <= now;
const refusal = (code, message) => ({ error: { type: 'ERROR', code, message } });

export function agentRuns(
  {
    slots = 50,
    durationMs = { min: 100, max: 300 },
    seed = 1,
    echoesMetadata = true,
    endsAs = 'completed',
    /** Whether a run continues although its cancel or stop was accepted. */
    keepsRunning = false,
    costDollars = 0.25,
    /** How far the service's clock is ahead of the caller's; with null its answers have no times. */
    clockMs = 0,
  },
  purchases,
  log,
) {
  const random = seeded(seed);
  const runs = new Map();
  let created = 0;

  const inProgress = (now) => [...runs.values()].filter((run) => !isOver(run, now));
  const recordOf = (run, now) => {
    const over = isOver(run, now);
    const { metadata, ...rest } = run.request;
    const hasOutput = over && run.status === 'completed';
    return {
      id: run.id,
      object: 'agent_run',
      status: over ? run.status : 'running',
      stopReason: over ? (run.stopReason ?? 'schema_satisfied') : null,
      createdAt: clockMs === null ? null : new Date(run.wallAt + clockMs).toISOString(),
      completedAt: over ? new Date(run.wallAt + run.endsAt - run.startedAt).toISOString() : null,
      request: echoesMetadata ? run.request : rest,
      output: hasOutput ? { text: `of ${run.request.query}`, structured: null, grounding: [] } : null,
      usage: { agentComputeUnits: 1, searches: 2, emails: 0, phoneNumbers: 0 },
      costDollars: { total: over ? costDollars : 0 },
    };
  };

  function create({ body, entry }) {
    const now = entry.at;
    if (typeof body?.query !== 'string' || body.query === '')
      throw new Refused(400, 'INVALID_REQUEST', 'query must be a text');
    if (slots !== null && inProgress(now).length >= slots) {
      entry.refused = 'slots';
      throw new Refused(429, 'CONCURRENCY_LIMIT_REACHED', `${slots} agent runs are in progress`);
    }
    const id = `agent_run_${String(++created).padStart(6, '0')}`;
    entry.runId = id;
    const endsAt = now + durationMs.min + random() * (durationMs.max - durationMs.min);
    const run = { id, request: body, startedAt: now, wallAt: Date.now(), endsAt, status: endsAs, stopReason: null };
    runs.set(id, Object.assign(run, { reads: 0, seenOverAt: null }));
    const key = `agent ${JSON.stringify([body.query, body.input ?? null])}`;
    purchases.charge('agent', [{ key, micros: Math.round(costDollars * 1e6) }], entry.requestId);
    return recordOf(run, now);
  }

  function list({ url }) {
    const now = performance.now();
    const all = [...runs.values()].reverse();
    const cursor = url.searchParams.get('cursor');
    const from = cursor ? all.findIndex((run) => run.id === cursor) + 1 : 0;
    const limit = Number(url.searchParams.get('limit') ?? 20);
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100))
      throw new Refused(400, 'INVALID_REQUEST', 'limit is 1 to 100');
    const page = all.slice(from, from + limit);
    const hasMore = from + limit < all.length;
    const data = page.map((run) => recordOf(run, now));
    return { object: 'list', data, hasMore, nextCursor: hasMore ? page.at(-1).id : null };
  }

  const known = (id) => {
    const run = runs.get(id);
    if (!run) throw new Refused(404, 'RUN_NOT_FOUND', `no run ${id}`);
    return run;
  };

  function read({ ids: [id] }) {
    const run = known(id);
    const now = performance.now();
    run.reads++;
    if (isOver(run, now)) run.seenOverAt ??= now;
    return recordOf(run, now);
  }

  function end({ ids: [id, action] }) {
    const run = known(id);
    const now = performance.now();
    if (!keepsRunning && !isOver(run, now)) {
      const how = action === 'stop' ? { stopReason: 'stopped' } : { status: 'cancelled', stopReason: 'cancelled' };
      Object.assign(run, how, { endsAt: now });
    }
    return recordOf(run, now);
  }

  function remove({ ids: [id] }) {
    known(id);
    runs.delete(id);
    return { id, object: 'agent_run.deleted', deleted: true };
  }

  function events({ ids: [id] }) {
    known(id);
    return { object: 'list', data: [], hasMore: false, nextCursor: null };
  }

  /** Every start that reached the service, in order. */
  const starts = () =>
    log
      .filter(({ kind, refused, runId }) => kind === 'start' && (refused !== null || runId !== undefined))
      .map(({ at, body, refused, runId = null, earlyMs }) => ({ at, query: body?.query, refused, id: runId, earlyMs }));

  const free = { kind: 'look', units: 0 };
  return {
    refusal,
    // Failures of starts whose runs exist all the same. The answer names this run, no run, or another run.
    failures: {
      named: ({ id }) => refusal('TIMEOUT', `The run ${id} takes too long`),
      unnamed: () => refusal('SERVER_ERROR', 'Something went wrong'),
      names: (_record, { id }) => refusal('SERVER_ERROR', `Could not load the run ${id}`),
    },
    routes: [
      { method: 'POST', path: /^\/agent\/runs$/, kind: 'start', units: 2, act: create },
      { method: 'GET', path: /^\/agent\/runs$/, ...free, act: list },
      { method: 'GET', path: /^\/agent\/runs\/([^/]+)$/, ...free, act: read },
      { method: 'GET', path: /^\/agent\/runs\/([^/]+)\/events$/, ...free, act: events },
      { method: 'DELETE', path: /^\/agent\/runs\/([^/]+)$/, ...free, act: remove },
      { method: 'POST', path: /^\/agent\/runs\/([^/]+)\/(cancel|stop)$/, kind: 'end', units: 0, act: end },
    ],
    control: {
      runs,
      get starts() {
        return starts();
      },
      inProgress: () => inProgress(performance.now()).length,
      report: () => ({
        starts: starts(),
        runs: [...runs.values()].map(({ request, ...run }) => ({ ...run, query: request.query })),
      }),
    },
  };
}
