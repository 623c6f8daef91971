import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { isLoopback } from '../core/connections/loopback.js';
import { AgentRuns } from './agents/agent-runs.js';
import { ResearchTasks } from './agents/research-tasks.js';
import { type Fault, FaultScript, faultsSchema } from './base/fault.js';
import { parseOptions, rateOf, type SandboxOptions } from './base/options.js';
import { Refusal, readJson } from './base/refusal.js';
import { idsOf } from './base/sentences.js';
import { Timers } from './base/timers.js';
import { type Bill, Ledger } from './ledger/ledger.js';
import type { Fact } from './ledger/log-file.js';
import { Monitors } from './monitors/monitors.js';
import { Crawler } from './pages/result.js';
import type { RouteContext } from './route.js';
import { createExchange } from './server/exchange.js';
import { RateGate } from './server/rate-gate.js';
import { RequestLog, type RequestLogEntry } from './server/request-log.js';
import { EventHistory } from './websets/event-history.js';
import { eventTypes, idOf } from './websets/story.js';
import type { World } from './world.js';

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
  const ledger = new Ledger(options.credits);
  const facts = options.ledgerFile === null ? [] : await ledger.open(options.ledgerFile);
  const log = new RequestLog(options.logEntries);
  const gate = new RateGate(rateOf(options));
  const script = new FaultScript();
  script.set(options.faults, log.now());
  const timers = new Timers();
  const ids = (kind: string) => idsOf(options.seed, ledger.starts, kind);
  const context = openState({ options, ledger, timers, now: () => Date.now(), ids }, facts);
  const { agentRuns, research, monitors, history } = context;
  const advance = () => {
    agentRuns.advance();
    research.advance();
    monitors.advance();
  };
  const exchange = createExchange({ log, gate, script, context, advance });
  const panel: Panel = {
    bill: ({ keys = true } = {}) => {
      advance();
      return ledger.bill(keys);
    },
    log: (from) => log.since(from),
    stats: () => {
      advance();
      const { dollars } = ledger.bill(false);
      const { count: requests, limited } = log;
      return { requests, byStatus: log.byStatus(), limited, dollars, maxInSlidingSecond: gate.max };
    },
    state: () => {
      advance();
      return viewOf(context);
    },
    trigger: (what) => trigger(triggerSchema.parse(what), context),
    reset: () => {
      for (const store of [ledger, agentRuns, research, monitors, history, log, gate, context.crawler]) store.reset();
      void history.timeline;
      script.rewind(log.now());
    },
    setFaults: (faults) => script.set(faultsSchema.parse(faults), log.now()),
    setCredits: (dollars) => ledger.setCredits(dollars),
  };
  const control = createControl(panel);
  const server = createServer((request, response) => {
    const isControl = request.url?.startsWith(`${CONTROL_PATH}/`);
    void (isControl ? control(request, response) : exchange(request, response));
  });
  // The timeout is longer than the idle times of clients. So the client closes first, and no request reaches a connection that
  // is being closed.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options.port).catch((error: unknown) => {
    ledger.close();
    throw error;
  });
  void monitors.keepTime();
  const url = `http://127.0.0.1:${port}`;
  let closing: Promise<void> | null = null;
  return { ...panel, url, port, close: () => (closing ??= close(server, timers).then(() => ledger.close())) };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  // `once` rejects if the port is taken.
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function close(server: Server, timers: Timers): Promise<void> {
  timers.stop();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Opens the stores and restores the `facts` of an earlier process. Throws if a fact cannot be read. */
function openState(world: World, facts: readonly Fact[]): RouteContext {
  const stores = {
    agentRuns: new AgentRuns(world),
    research: new ResearchTasks(world),
    monitors: new Monitors(world),
    history: new EventHistory(world),
  };
  world.ledger.restore(facts);
  // The first use sets the times of the history. The times must count from the first start, not from the first request.
  void stores.history.timeline;
  return { ...world, ...stores, crawler: new Crawler(world.options) };
}

/** Current state, for the checks of tests. */
function viewOf({ agentRuns, research, monitors, history }: RouteContext) {
  const triggered = history.triggered.length;
  return {
    agentRuns: agentRuns.view(),
    research: research.view(),
    ...monitors.view(),
    /** `count`: number of webset events so far; `triggered`: how many of them were triggered by hand. */
    events: { count: history.length + triggered, triggered },
  };
}

function trigger(what: Trigger, { monitors, history, options }: RouteContext): readonly string[] {
  if ('monitorRun' in what) return [monitors.trigger(what.monitorRun).id];
  if ('disableMonitor' in what) {
    return [monitors.update(what.disableMonitor, (monitor) => ({ ...monitor, status: 'disabled' })).id];
  }
  return Array.from({ length: what.count ?? 1 }, () => idOf('event', options.seed, history.trigger(what.event)));
}

/**
 * Prefix of the paths that belong to the sandbox itself. Requests to these paths need no key, have no limit and no faults, and are not in
 * the request log.
 */
const CONTROL_PATH = '/__sandbox';

const creditsSchema = z.strictObject({ dollars: z.number().nonnegative().nullable() });
const fromSchema = z.coerce.number().int().positive().catch(1);

/**
 * Returns the reason to refuse a request, or null. The control paths need no key, so web pages in a browser of this machine
 * must not use them: neither pages of another site, nor pages under a host name that resolves to this machine.
 */
function whyForeign(headers: IncomingHttpHeaders): string | null {
  const host = headers.host ?? '';
  if (!isLoopback(host.replace(/:\d+$/, '')))
    return 'The control paths are for this machine: call them as localhost or 127.0.0.1';
  const site = headers['sec-fetch-site'] ?? 'none';
  const { origin } = headers;
  const isForeign =
    !['none', 'same-origin'].includes(String(site)) || (origin !== undefined && origin !== `http://${host}`);
  return isForeign ? 'The control paths refuse requests of another site' : null;
}

type Action = (panel: Panel, query: URLSearchParams, request: IncomingMessage) => unknown;

const done = { ok: true };

/** The actions of the control paths, by method and path. */
const actions: Readonly<Record<string, Action>> = {
  'GET /bill': (panel, query) => panel.bill({ keys: query.get('keys') !== '0' }),
  'GET /log': (panel, query) => panel.log(fromSchema.parse(query.get('from'))),
  'GET /stats': (panel) => panel.stats(),
  'GET /state': (panel) => panel.state(),
  'POST /trigger': async (panel, _query, request) => ({
    ids: panel.trigger((await readJson(request)) as Trigger),
  }),
  'POST /faults': async (panel, _query, request) => {
    panel.setFaults((await readJson(request)) as readonly Fault[]);
    return done;
  },
  'POST /credits': async (panel, _query, request) => {
    panel.setCredits(creditsSchema.parse(await readJson(request)).dollars);
    return done;
  },
  'POST /reset': (panel) => {
    panel.reset();
    return done;
  },
};

/**
 * The control paths as a request listener of `node:http`: `GET bill` (`?keys=0` leaves out the units), `GET log` (`?from=n`),
 * `GET stats`, `GET state`, `POST trigger` (`{"event": "webset.idle", "count": 5}`, `{"monitorRun": id}`, `{"disableMonitor":
 * id}`), `POST faults` (a list), `POST credits` (`{"dollars": 5}`, null for no limit), `POST reset`.
 */
function createControl(panel: Panel): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, value } = await answer(panel, request).catch((error: unknown) => refusalOf(error));
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
  };
}

async function answer(panel: Panel, request: IncomingMessage): Promise<{ status: number; value: unknown }> {
  const why = whyForeign(request.headers);
  if (why !== null) return { status: 403, value: { error: why } };
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const action = actions[`${request.method} ${pathname.slice(CONTROL_PATH.length)}`];
  if (!action) return { status: 404, value: { error: `No ${request.method} ${pathname}` } };
  return { status: 200, value: await action(panel, searchParams, request) };
}

function refusalOf(error: unknown): { status: number; value: unknown } {
  if (error instanceof z.ZodError) return { status: 400, value: { error: z.prettifyError(error) } };
  const status = error instanceof Refusal ? (error.status === 404 ? 404 : 400) : 500;
  return { status, value: { error: error instanceof Error ? error.message : String(error) } };
}

/** Counts of all requests since the start or the last reset. */
export interface SandboxStats {
  readonly requests: number;
  /** Number of requests by the status that was sent. `0`: the connection was closed without a status. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Number of requests that the rate limit refused. */
  readonly limited: number;
  readonly dollars: number;
  /** Highest rate cost of the admitted requests in any period of one second. */
  readonly maxInSlidingSecond: number;
}

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
