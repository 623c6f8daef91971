import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { isLoopback } from '../core/connections/loopback.js';
import { readJson } from './base/read-json.js';
import { Refusal } from './base/refusal.js';
import { type Panel, triggerSchema } from './panel.js';
import { faultsSchema } from './server/fault.js';

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
