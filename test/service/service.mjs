// A strict stand-in for the service, for tests and benches, written from the service's contract. It has a limiter, a request log and a
// purchase log of its own, and no code of searchflow.
import { createServer } from 'node:http';
import { z } from 'zod';
import { agentRuns } from './agents.mjs';
import { keyBill } from './bill.mjs';
import { FaultScript, faultFrom, sendAs } from './faults.mjs';
import { Limiter } from './limiter.mjs';
import { monitorRoutes } from './monitors.mjs';
import { PurchaseLog } from './purchase-log.mjs';
import { Refused } from './refused.mjs';
import { paidRows } from './rows.mjs';
import { websetEvents } from './webset-events.mjs';

export { byChance } from './faults.mjs';

const HTML = '<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>';
const plain = { noun: 'none', kind: 'none', units: 1, refusal: (code, message) => ({ error: message, tag: code }) };

export async function startService({
  key = null,
  serviceKey = 'service-key-of-the-strict-service',
  qps = null,
  retryAfter = null,
  latencyMs = 0,
  faults = [],
  rows = {},
  agents = {},
  events = {},
  monitors = {},
} = {}) {
  const log = [];
  const purchases = new PurchaseLog();
  const limiter = new Limiter(qps);
  const script = new FaultScript(faults);
  const nouns = {
    rows: paidRows(rows, purchases),
    agents: agentRuns(agents, purchases, log),
    events: websetEvents(events),
    monitors: monitorRoutes(monitors),
    bill: keyBill(purchases, log),
  };
  const routes = Object.entries(nouns).flatMap(([noun, { routes, refusal, failures }]) =>
    routes.map((route) => ({ noun, units: 1, refusal, failures, ...route })),
  );
  let meanwhile = () => undefined;

  const routeOf = (method, path) => {
    for (const route of routes) {
      const match = route.method === method ? route.path.exec(path) : null;
      if (match) return { ...route, ids: match.slice(1) };
    }
    return plain;
  };

  /** Logs a call when it arrives and decides its fault; the work begins when the body is there. */
  function arrive(request, url) {
    const { method } = request;
    const route = routeOf(method, url.pathname);
    const call = log.length + 1;
    const fault = script.faultOf(call, method, url.pathname, route);
    const entry = {
      ...{ call, at: performance.now(), method, path: url.pathname, noun: route.noun, kind: route.kind },
      ...{ key: request.headers['x-api-key'] ?? null, units: route.units, body: undefined, fault },
      ...{ refused: null, status: null, ids: [], requestId: `strict-${call}`, doneAt: null },
    };
    log.push(entry);
    const detailed = faultFrom(fault);
    if (detailed?.how !== 'reset' && detailed?.how !== 'status' && detailed?.how !== 'html') {
      const earlyMs = limiter.earlyMs(route.units, entry.at);
      if (earlyMs !== null) Object.assign(entry, { refused: 'rate', earlyMs });
    }
    return { entry, route, fault: detailed };
  }

  function work(request, url, entry, route) {
    const sent = entry.key ?? /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    try {
      const wanted = route.noun === 'bill' ? serviceKey : key;
      if (sent === undefined || (wanted !== null && sent !== wanted))
        throw new Refused(401, 'INVALID_API_KEY', 'no such key');
      if (entry.refused !== null) throw new Refused(429, 'RATE_LIMIT_EXCEEDED', 'too many requests in a second');
      if (!route.act) throw new Refused(404, 'NOT_FOUND', 'no such path');
      meanwhile(entry.call, entry.method, entry.path);
      return { status: route.status ?? 200, body: route.act({ url, ids: route.ids, body: entry.body, entry }) };
    } catch (error) {
      if (error instanceof z.ZodError) return { status: 400, body: route.refusal('INVALID_REQUEST', error.message) };
      if (!(error instanceof Refused)) throw error;
      return { status: error.status, body: route.refusal(error.code, error.message) };
    }
  }

  async function answer(request, response) {
    const url = new URL(request.url, 'http://service');
    if (url.pathname.startsWith('/__')) return control(request, response, url.pathname);
    const { entry, route, fault } = arrive(request, url);
    response.once('close', () => (entry.doneAt = performance.now()));
    entry.body = parsed(await bodyOf(request));
    if (fault?.how === 'reset') return request.socket.destroy();
    const headers = { 'content-type': 'application/json', 'x-request-id': entry.requestId };
    const send = (status, body, more = {}) => {
      entry.status = status;
      return sendAs(fault, { request, response, status, body, headers: { ...headers, ...more } });
    };
    if (fault?.how === 'html') return send(200, HTML, { 'content-type': 'text/html' });
    if (fault?.how === 'status') {
      const code = fault.status === 429 ? 'RATE_LIMIT_EXCEEDED' : 'DECLARED_FAULT';
      return send(fault.status, fault.body ?? route.refusal(code, 'a declared fault'), fault.headers);
    }
    const done = work(request, url, entry, route);
    if (latencyMs > 0 && done.status !== 429) await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const failure = route.failures?.[fault?.how];
    if (failure) return send(500, failure(done.body, fault));
    if (fault?.how === 'failed') return send(500, fault.body ?? route.refusal('DECLARED_FAULT', 'a declared fault'));
    const wait = entry.refused === 'rate' && retryAfter !== null ? { 'retry-after': String(retryAfter) } : {};
    return send(done.status, done.body, { ...route.headers?.(), ...wait });
  }

  /** Answers the requests of a bench or test that runs the service in another process. */
  async function control(request, response, path) {
    if (path === '/__next') script.next(...JSON.parse(await bodyOf(request)));
    const answers = {
      '/__log': () => ({ now: performance.now(), log }),
      '/__purchases': () => purchases.report(),
      '/__runs': () => nouns.agents.control.report(),
    };
    response.end(JSON.stringify(answers[path]?.() ?? {}));
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) =>
    // If the caller was killed while it sent the request, there is no connection left to close.
    answer(request, response).catch((error) => request.destroyed || response.destroy(error)),
  );
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    key: key ?? 'key-of-the-strict-service',
    serviceKey,
    log,
    purchases,
    next: (...faults) => script.next(...faults),
    set faultOf(decide) {
      script.decide = decide;
    },
    set meanwhile(act) {
      meanwhile = act;
    },
    agents: nouns.agents.control,
    events: nouns.events.control,
    monitors: nouns.monitors.control,
    bill: nouns.bill.control,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Returns undefined for a body that is not JSON; each route refuses it in its own way. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
