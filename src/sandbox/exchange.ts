import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkAccess } from './access.js';
import { changeResults } from './change-results.js';
import { cut, deliver, type Reply } from './deliver.js';
import { faultReply, refusalReply } from './error-reply.js';
import { type FaultDo, faultLabel } from './fault.js';
import type { FaultScript } from './fault-script.js';
import { fraction, mix } from './hash.js';
import type { SandboxOptions } from './options.js';
import type { RateWindow } from './rate-window.js';
import { readJson } from './read-json.js';
import { envelopeOf, Refusal } from './refusal.js';
import type { OpenEntry, RequestLog } from './request-log.js';
import { retryAfterOf } from './retry-after.js';
import { routes } from './routes/index.js';
import type { Desk } from './routes/route.js';
import type { Till } from './till.js';
import type { Timers } from './timers.js';

/** The parts that serve a request. */
export interface ExchangeParts {
  readonly options: SandboxOptions;
  readonly log: RequestLog;
  readonly window: RateWindow;
  readonly script: FaultScript;
  readonly till: Till;
  readonly desk: Desk;
  readonly timers: Timers;
  readonly baseUrl: () => string;
  readonly nextRequestId: () => string;
}

/** One request, from its headers to its answer. In this order: log, key, rate limit, fault, body, latency, work, book, answer. */
export function createExchange(
  parts: ExchangeParts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { log, timers } = parts;
  return async (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] as string;
    const entry = log.open(request.method ?? 'GET', path);
    const requestId = parts.nextRequestId();
    const seat: Seat = { request, path, entry, requestId, fault: null };
    try {
      const reply = await answer(parts, seat).catch((error: unknown) => refusalReply(path, requestId, error));
      log.done(entry, reply === null ? cut(response) : await deliver(response, reply, seat.fault, timers));
    } catch {
      // The client is gone, or its connection can't be written to: nothing is left to be answered.
      log.done(entry, cut(response));
    }
  };
}

/** A request on its way through. */
interface Seat {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly entry: OpenEntry;
  readonly requestId: string;
  fault: FaultDo | null;
}

/** Answers null where the connection is to be cut. Throws a {@link Refusal} for what isn't served. */
async function answer(parts: ExchangeParts, seat: Seat): Promise<Reply | null> {
  const { options, window, script, desk, till, timers } = parts;
  const { request, path, entry, requestId } = seat;
  checkAccess(request.headers, path, { keys: options.keys, x402: options.x402, baseUrl: parts.baseUrl() });
  if (!window.admit(entry.at)) throw tooFast(options, entry);
  const fault = script.next(path, entry.at)?.do ?? null;
  seat.fault = fault;
  entry.fault = fault === null ? null : faultLabel(fault);
  if (fault?.kind === 'reset' && fault.moment === 'before') return null;
  if (fault && isReplacement(fault) && !fault.booked) return faultReply(path, requestId, fault);
  const route = routes.get(`${request.method} ${path}`);
  if (!route)
    throw new Refusal(
      404,
      envelopeOf(path) === 'agent' ? 'RUN_NOT_FOUND' : 'NOT_FOUND',
      `No ${request.method} ${path}`,
    );
  const work = route(await readJson(request), desk);
  await timers.wait(latencyOf(options, entry.n));
  if (timers.stopped) return null;
  const done = work(requestId);
  till.sell(done.purchase);
  entry.units = done.purchase.units.length;
  if (fault && isReplacement(fault)) return faultReply(path, requestId, fault);
  const body = fault?.kind === 'results' ? changeResults(done.body, fault.change) : done.body;
  return workReply(options, requestId, body);
}

function isReplacement(fault: FaultDo): fault is Extract<FaultDo, { kind: 'status' | 'body' }> {
  return fault.kind === 'status' || fault.kind === 'body';
}

function latencyOf({ latencyMs, seed }: SandboxOptions, n: number): number {
  if (typeof latencyMs === 'number') return latencyMs;
  return latencyMs.min + fraction(mix(n, seed), 63) * (latencyMs.max - latencyMs.min);
}

function tooFast(options: SandboxOptions, entry: OpenEntry): Refusal {
  entry.limited = true;
  const value = retryAfterOf(options.retryAfter, options.retryAfterSeconds);
  return new Refusal(429, 'RATE_LIMIT_EXCEEDED', `You have exceeded the limit of ${options.qps} requests per second`, {
    headers: value === null ? {} : { 'retry-after': value },
  });
}

function workReply({ headerPrefix }: SandboxOptions, requestId: string, body: Buffer): Reply {
  return {
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestId,
      [`${headerPrefix}-queued`]: 'false',
      [`${headerPrefix}-queue-ms`]: '0',
    },
    body,
  };
}
