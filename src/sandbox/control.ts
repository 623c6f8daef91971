import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { isLoopback } from '../core/connections/loopback.js';
import { Refusal, readJson } from './base/refusal.js';
import type { Bill } from './ledger/purchase-log.js';
import type { Delivery } from './monitors/webhooks.js';
import { type Fault, faultsSchema } from './server/fault.js';
import type { RequestLogEntry } from './server/request-log.js';
import { eventTypes } from './websets/story.js';

/**
 * Prefix of the paths that belong to the sandbox itself. Requests to these paths need no key, have no limit and no faults, and are not in
 * the request log.
 */
export const CONTROL_PATH = '/__sandbox';

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
    ids: panel.trigger(triggerSchema.parse(await readJson(request))),
  }),
  'POST /faults': async (panel, _query, request) => {
    panel.setFaults(faultsSchema.parse(await readJson(request)));
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
export function createControl(panel: Panel): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
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

/** Current state, for the checks of tests. */
export interface SandboxState {
  readonly agentRuns: {
    readonly inProgress: number;
    /** Highest number of runs in progress so far. */
    readonly maxInProgress: number;
    readonly byStatus: Readonly<Record<string, number>>;
  };
  readonly research: { readonly count: number; readonly inProgress: number; readonly maxInProgress: number };
  readonly monitors: {
    readonly byStatus: Readonly<Record<string, number>>;
    readonly runsByStatus: Readonly<Record<string, number>>;
  };
  /** Number of monitor events by state of their delivery, and the last attempts. */
  readonly webhooks: {
    readonly delivered: number;
    readonly failed: number;
    readonly waiting: number;
    readonly attempts: readonly Delivery[];
  };
  /** `count`: number of webset events so far; `triggered`: how many of them were triggered by hand. */
  readonly events: { readonly count: number; readonly triggered: number };
}

export const triggerSchema = z.union(
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
export type Trigger = z.infer<typeof triggerSchema>;

/** Queries and changes of a running sandbox, for tests and people. They are also available by HTTP, under `/__sandbox/`. */
export interface Panel {
  /** The purchases. `keys: false` leaves out the units. */
  bill(options?: { readonly keys?: boolean }): Bill;
  /** Requests from number `from` on; default: all that are kept. */
  log(from?: number): readonly RequestLogEntry[];
  stats(): SandboxStats;
  state(): SandboxState;
  /** Triggers an event; returns the ids of the results. Throws if there is no such monitor. */
  trigger(what: Trigger): readonly string[];
  /** Empties purchase log, request log, rate limit and state, restores the initial credits, and restarts the faults. */
  reset(): void;
  /** Replaces the faults. Counts and times of the new faults start now. Throws if a fault is malformed. */
  setFaults(faults: readonly Fault[]): void;
  /** Sets the team's credits; null: no limit. */
  setCredits(dollars: number | null): void;
}
