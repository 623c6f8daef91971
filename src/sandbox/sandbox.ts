import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { isLoopback } from '../core/connections/loopback.js';
import { eventTypes } from '../core/events/payloads.js';
import { agentRoutes, agentRunsOf } from './agents/agent-runs.js';
import { researchOf, researchRoutes, taskStatus } from './agents/research.js';
import { statusAt } from './agents/run-record.js';
import { type Fault, FaultScript, faultsSchema } from './base/fault.js';
import { parseOptions, rateOf, type SandboxOptions } from './base/options.js';
import { Refusal, readJson } from './base/refusal.js';
import { idsOf } from './base/sentences.js';

import { usageRoutes } from './ledger/key-usage.js';
import { type Bill, Ledger } from './ledger/ledger.js';

import { Monitors } from './monitors/monitors.js';
import { monitorRoutes } from './monitors/routes.js';
import { Crawler } from './pages/crawler.js';
import { pageRoutes } from './pages/routes.js';
import { createRouter } from './route.js';
import { createExchange } from './server/exchange.js';
import { RateGate } from './server/rate-gate.js';
import { RequestLog, type RequestLogEntry } from './server/request-log.js';
import { EventHistory } from './websets/event-history.js';
import { websetRoutes } from './websets/routes.js';
import { Timers, type World } from './world.js';

/** Counts of all requests since the start or the last reset. */
export interface SandboxStats {
  readonly requests: number;
  /** Number of requests by the status that was sent. `0`: the connection was closed without a status. */
  readonly byStatus: Readonly<Record<string, number>>;
  readonly limited: number;
  readonly dollars: number;
  /** Highest rate cost of the admitted requests in any period of one second. */
  readonly maxInSlidingSecond: number;
}

/** Queries and changes of a running sandbox, for tests and people. They are also available by HTTP, under `/__sandbox/`. */
export interface Panel {
  /** The purchases. `keys: false` leaves out the units. */
  bill(options?: { readonly keys?: boolean }): Bill;
  /** Requests from number `from` on; default: all that are kept. */
  log(from?: number): readonly RequestLogEntry[];
  stats(): SandboxStats;
  /** Current state, for the checks of tests. */
  state(): ReturnType<typeof viewOf>;
  /** Triggers an event; returns the ids of the results. Throws if there is no such monitor. */
  trigger(what: Trigger): readonly string[];
  /** Empties purchase log, request log, rate limit and state, restores the initial credits, and restarts the faults. */
  reset(): void;
  /** Replaces the faults. Counts and times of the new faults start now. Throws if a fault is malformed. */
  setFaults(faults: readonly Fault[]): void;
  /** Sets the team's credits; null: no limit. */
  setCredits(dollars: number | null): void;
}

/** A stand-in for the service, running in this process. */
export interface Sandbox extends Panel {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Closes open connections and stops. Work that was not recorded before the close is not done. */
  close(): Promise<void>;
}

/**
 * Starts a stand-in for the service on 127.0.0.1. Rejects if options are wrong (with all mistakes), if the port is taken, or if
 * the log file cannot be used.
 */
export async function startSandbox(input: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const options = parseOptions(input);
  const log = new RequestLog(options.logEntries);
  const gate = new RateGate(rateOf(options));
  const script = new FaultScript();
  script.set(options.faults, log.now());
  const ledger = new Ledger(options.credits);
  const facts = options.ledgerFile === null ? [] : ledger.open(options.ledgerFile);
  const timers = new Timers();
  const ids = (kind: string) => idsOf(options.seed, ledger.starts, kind);
  const world: World = { options, ledger, timers, now: () => Date.now(), ids };
  const stores = openStores(world);
  const { agentRuns, research, monitors, history, crawler } = stores;
  ledger.restore(facts);
  history.begin();
  const advance = () => {
    agentRuns.settle();
    research.settle();
    monitors.advance();
  };
  const panel: Panel = {
    bill: ({ keys = true } = {}) => {
      advance();
      return ledger.bill(keys);
    },
    log: (from) => log.since(from),
    stats: () => ({ ...log.counts, dollars: panel.bill({ keys: false }).dollars, maxInSlidingSecond: gate.max }),
    state: () => {
      advance();
      return viewOf(stores, world.now());
    },
    trigger: (input) => {
      const what = triggerSchema.parse(input);
      if ('monitorRun' in what) return [monitors.trigger(what.monitorRun).id];
      if ('disableMonitor' in what) {
        return [monitors.update(what.disableMonitor, (monitor) => ({ ...monitor, status: 'disabled' })).id];
      }
      return Array.from({ length: what.count ?? 1 }, () => history.trigger(what.event));
    },
    reset: () => {
      for (const part of [ledger, agentRuns, research, monitors, history, log, gate, crawler]) part.reset();
      timers.wake();
      script.rewind(log.now());
    },
    setFaults: (faults) => script.set(faultsSchema.parse(faults), log.now()),
    setCredits: (dollars) => ledger.setCredits(dollars),
  };
  const control = createControl(panel);
  const router = createRouter({
    ...pageRoutes(crawler, options),
    ...agentRoutes(agentRuns, world),
    ...researchRoutes(research, world),
    ...monitorRoutes(monitors, world),
    ...websetRoutes(history, world.now),
    ...usageRoutes((...asked) => ledger.usage.between(...asked), world.now),
  });
  const exchange = createExchange({ log, gate, script, world, router, advance });
  const server = createServer((request, response) => {
    (request.url?.startsWith(`${CONTROL_PATH}/`) ? control : exchange)(request, response);
  });
  // The timeout is longer than the idle times of clients. So the client closes first, and no request reaches a connection that
  // is being closed.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options.port).catch((error: unknown) => {
    ledger.close();
    throw error;
  });
  void monitors.keepTime();
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= closeServer(server, timers).then(() => ledger.close()));
  return { ...panel, url: `http://127.0.0.1:${port}`, port, close };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  // `once` rejects if the port is taken.
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closeServer(server: Server, timers: Timers): Promise<void> {
  timers.stop();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

function openStores(world: World) {
  return {
    agentRuns: agentRunsOf(world),
    research: researchOf(world),
    monitors: new Monitors(world),
    history: new EventHistory(world),
    crawler: new Crawler(world.options),
  };
}

/** Current state, for the checks of tests. */
function viewOf({ agentRuns, research, monitors, history }: ReturnType<typeof openStores>, now: number) {
  const { byStatus: _, ...tasks } = research.view((task) => taskStatus(task, now));
  return {
    agentRuns: agentRuns.view((run) => statusAt(run, now)),
    research: { count: research.count, ...tasks },
    ...monitors.view(),
    /** `count`: number of webset events so far; `triggered`: how many of them were triggered by hand. */
    events: { count: history.length, triggered: history.triggered },
  };
}

/** Prefix of the paths that need no key, have no limit and no faults, and are not in the request log. */
const CONTROL_PATH = '/__sandbox';

const triggerSchema = z.union(
  [
    z.strictObject({ event: z.enum(eventTypes), count: z.number().int().min(1).max(10_000).optional() }),
    z.strictObject({ monitorRun: z.string().min(1) }),
    z.strictObject({ disableMonitor: z.string().min(1) }),
  ],
  {
    error: ({ input }) =>
      `${JSON.stringify(input)?.slice(0, 200)} cannot be triggered: an event (1 to 10,000 of ${eventTypes.join(', ')}), or monitorRun or disableMonitor with the id of a monitor`,
  },
);

/** An event to trigger now: webset events of a type, the run of a monitor, or the service disabling a monitor. */
type Trigger = z.infer<typeof triggerSchema>;

const creditsSchema = z.strictObject({ dollars: z.number().nonnegative().nullable() });
const fromSchema = z.coerce.number().int().positive().catch(1);

/** The actions of the control paths, by method and path. `input`: the body. An action without a result answers `{"ok": true}`. */
const actions: Readonly<Record<string, (panel: Panel, input: unknown, query: URLSearchParams) => unknown>> = {
  /** `?keys=0` leaves out the units. */
  'GET /bill': (panel, _, query) => panel.bill({ keys: query.get('keys') !== '0' }),
  /** `?from=n` leaves out earlier requests. */
  'GET /log': (panel, _, query) => panel.log(fromSchema.parse(query.get('from'))),
  'GET /stats': (panel) => panel.stats(),
  'GET /state': (panel) => panel.state(),
  /** `{"event": "webset.idle", "count": 5}`, `{"monitorRun": id}`, `{"disableMonitor": id}` */
  'POST /trigger': (panel, input) => ({ ids: panel.trigger(input as Trigger) }),
  'POST /faults': (panel, input) => panel.setFaults(input as readonly Fault[]),
  /** `{"dollars": 5}`, null for no limit. */
  'POST /credits': (panel, input) => panel.setCredits(creditsSchema.parse(input).dollars),
  'POST /reset': (panel) => panel.reset(),
};

/** The control paths as a request listener of `node:http`. */
function createControl(panel: Panel): RequestListener {
  return async (request, response) => {
    const [status, value] = await answer(panel, request).catch(refusalOf);
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
  };
}

async function answer(panel: Panel, request: IncomingMessage): Promise<readonly [status: number, value: unknown]> {
  const why = whyForeign(request.headers);
  if (why !== null) return [403, { error: why }];
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const action = actions[`${request.method} ${pathname.slice(CONTROL_PATH.length)}`];
  if (!action) return [404, { error: `No ${request.method} ${pathname}` }];
  const input = request.method === 'POST' ? await readJson(request) : undefined;
  return [200, action(panel, input, searchParams) ?? { ok: true }];
}

function refusalOf(error: unknown): readonly [status: number, value: unknown] {
  if (error instanceof z.ZodError) return [400, { error: z.prettifyError(error) }];
  const status = error instanceof Refusal ? (error.status === 404 ? 404 : 400) : 500;
  return [status, { error: error instanceof Error ? error.message : String(error) }];
}

/**
 * Returns the reason to refuse a request, or null. The control paths need no key, so web pages in a browser of this machine
 * must not use them: neither pages of another site, nor pages under a host name that resolves to this machine.
 */
function whyForeign(headers: IncomingHttpHeaders): string | null {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers;
  if (!isLoopback(host.replace(/:\d+$/, '')))
    return 'The control paths are for this machine: call them as localhost or 127.0.0.1';
  const isForeign =
    !['none', 'same-origin'].includes(String(site)) || (origin !== undefined && origin !== `http://${host}`);
  return isForeign ? 'The control paths refuse requests of another site' : null;
}
