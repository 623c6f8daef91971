import type { IncomingMessage, ServerResponse } from 'node:http';
import { fieldOf } from '../../api/checks/field-of.js';
import { fraction, mix } from '../base/hash.js';
import { readJson } from '../base/read-json.js';
import { envelopeOf, Refusal } from '../base/refusal.js';
import type { Timers } from '../base/timers.js';
import { keyIdOf } from '../ledger/key-usage.js';
import type { Ledger } from '../ledger/ledger.js';
import { routes } from '../routes/index.js';
import type { Frames, RouteContext } from '../routing/route.js';
import type { FoundRoute } from '../routing/router.js';
import { checkAccess, keyOf } from './access.js';
import { changeResults } from './change-results.js';
import { cut, deliver, type Reply } from './deliver.js';
import { deliverStream } from './deliver-stream.js';
import { faultReply, refusalReply } from './error-reply.js';
import { type FaultDo, faultLabel } from './fault.js';
import type { FaultScript } from './fault-script.js';
import type { Settings } from './options.js';
import type { RateGate } from './rate-gate.js';
import type { OpenEntry, RequestLog } from './request-log.js';
import { retryAfterOf } from './retry-after.js';

/** The parts that serve a request. */
export interface ExchangeParts {
  readonly options: Settings;
  readonly log: RequestLog;
  readonly gate: RateGate;
  /** Milliseconds since the start, by a monotonic clock. */
  readonly now: () => number;
  readonly script: FaultScript;
  readonly ledger: Ledger;
  readonly context: RouteContext;
  readonly timers: Timers;
  /** Does the work that became due since the last request. */
  readonly advance: () => void;
  readonly baseUrl: () => string;
  readonly nextRequestId: () => string;
}

/**
 * Handles a request from its headers to its answer, in this order: log, key, rate limit, fault, body, latency, work, purchase
 * log, answer.
 */
export function createExchange(
  parts: ExchangeParts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { log, timers } = parts;
  return async (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] as string;
    const entry = log.open(request.method ?? 'GET', path);
    const requestId = parts.nextRequestId();
    const served: ServedRequest = { request, path, entry, requestId, fault: null };
    try {
      const reply = await answer(parts, served).catch((error: unknown) => refusalReply(path, requestId, error));
      log.done(entry, await send(response, reply, served.fault, timers));
    } catch {
      // The client has disconnected or its connection is broken, so no answer can be sent.
      log.done(entry, cut(response));
    }
  };
}

/** The answer of a stream: its head, and the source of its frames. */
interface StreamReply extends Omit<Reply, 'body'> {
  readonly body: Frames;
}

async function send(
  response: ServerResponse,
  reply: Reply | StreamReply | null,
  fault: FaultDo | null,
  timers: Timers,
): Promise<number> {
  if (reply === null) return cut(response);
  const { body } = reply;
  return typeof body === 'function'
    ? deliverStream(response, reply, body, fault, timers)
    : deliver(response, { ...reply, body }, fault, timers);
}

/** A request in progress. */
interface ServedRequest {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly entry: OpenEntry;
  readonly requestId: string;
  fault: FaultDo | null;
}

/** Returns null if the connection must be closed. Throws a {@link Refusal} for a refused request. */
async function answer(parts: ExchangeParts, served: ServedRequest): Promise<Reply | StreamReply | null> {
  const { options, gate, script, context, ledger, timers } = parts;
  const { request, path, entry, requestId } = served;
  const method = request.method ?? 'GET';
  const found = routes.find(method, path);
  checkAccess(request.headers, path, { ...options, baseUrl: parts.baseUrl() });
  const early = method === 'POST' && gate.needsBody(path) ? { input: await readJson(request) } : null;
  const key = keyOf(request.headers);
  const rated = { path, weight: found?.weight ?? 1, type: fieldOf(early?.input, 'type'), key };
  const limit = gate.admit(early ? parts.now() : entry.at, rated);
  if (limit !== null) throw tooFast(options, entry, limit);
  const fault = script.next(method, path, entry.at)?.do ?? null;
  served.fault = fault;
  entry.fault = fault === null ? null : faultLabel(fault);
  if (fault?.kind === 'reset' && fault.moment === 'before') return null;
  if (fault && isReplacement(fault) && !fault.charged) return faultReply(path, requestId, fault);
  if (!found)
    throw new Refusal(404, envelopeOf(path) === 'agent' ? 'RUN_NOT_FOUND' : 'NOT_FOUND', `No ${method} ${path}`);
  const query = new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'));
  const call = { params: found.params, query, headers: request.headers };
  const work = found.route(early ? early.input : method === 'GET' ? undefined : await readJson(request), context, call);
  await timers.wait(latencyOf(options, entry.n));
  if (timers.stopped) return null;
  parts.advance();
  const done = work(requestId);
  if (done.purchase) {
    ledger.sell({ ...done.purchase, key: key === null ? undefined : keyIdOf(key) });
    entry.units = done.purchase.units.length;
  }
  if (fault && isReplacement(fault)) return faultReply(path, requestId, fault);
  const head = { status: done.status ?? 200, headers: { ...headersOf(options, found, requestId), ...done.headers } };
  const { body } = done;
  if (typeof body === 'function') return { ...head, headers: { ...head.headers, ...streamHeaders }, body };
  return { ...head, body: fault?.kind === 'results' ? changeResults(body, fault.change) : body };
}

const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

function isReplacement(fault: FaultDo): fault is Extract<FaultDo, { kind: 'status' | 'body' }> {
  return fault.kind === 'status' || fault.kind === 'body';
}

function latencyOf({ latencyMs, seed }: Settings, n: number): number {
  if (typeof latencyMs === 'number') return latencyMs;
  return latencyMs.min + fraction(mix(n, seed), 63) * (latencyMs.max - latencyMs.min);
}

function tooFast(options: Settings, entry: OpenEntry, limit: string): Refusal {
  entry.limited = true;
  const value = retryAfterOf(options.retryAfter, options.retryAfterSeconds);
  return new Refusal(429, 'RATE_LIMIT_EXCEEDED', `You have exceeded the limit of ${limit}`, {
    headers: value === null ? {} : { 'retry-after': value },
  });
}

function headersOf(
  { headerPrefix }: Settings,
  { queued }: FoundRoute,
  requestId: string,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    ...(queued ? { [`${headerPrefix}-queued`]: 'false', [`${headerPrefix}-queue-ms`]: '0' } : {}),
  };
}
