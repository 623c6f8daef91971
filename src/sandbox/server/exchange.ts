import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { fieldOf } from '../../api/checks/field-of.js';
import { type FaultDo, type FaultScript, faultLabel } from '../base/fault.js';
import type { Settings } from '../base/options.js';
import { envelopeOf, errorBody, Refusal, readJson } from '../base/refusal.js';
import { fraction, hashText, mix } from '../base/sentences.js';
import { keyIdOf } from '../ledger/ledger.js';
import type { RouteContext } from '../route.js';
import { findRoute } from '../router.js';
import { cut, deliver, type Reply } from './deliver.js';
import type { RateGate } from './rate-gate.js';
import type { OpenEntry, RequestLog } from './request-log.js';

/**
 * The answer to a refused request, in the envelope of its path. An error that is not a {@link Refusal} gives a 500. In both
 * cases nothing was recorded.
 */
function refusalReply(path: string, requestId: string, error: unknown): Reply {
  const refusal = error instanceof Refusal ? error : new Refusal(500, 'INTERNAL_ERROR', String(error));
  const { body, contentType } = errorBody(envelopeOf(path), requestId, refusal);
  return toReply(refusal.status, { ...refusal.headers, 'content-type': contentType, 'x-request-id': requestId }, body);
}

/** The answer of a fault, instead of the true one. */
function faultReply(path: string, requestId: string, fault: Extract<FaultDo, { kind: 'status' | 'body' }>): Reply {
  if (fault.kind === 'body') {
    const contentType = fault.contentType ?? 'text/html; charset=utf-8';
    return toReply(
      fault.status ?? 200,
      { 'content-type': contentType, 'x-request-id': requestId, ...fault.headers },
      fault.body,
    );
  }
  const { body, contentType } = errorBody(fault.envelope ?? envelopeOf(path), requestId, {
    status: fault.status,
    tag: fault.tag ?? null,
    message: 'A fault of the fault script',
  });
  const headers: Record<string, string> = { 'content-type': contentType, 'x-request-id': requestId, ...fault.headers };
  if (fault.retryAfter !== undefined) headers['retry-after'] = retryAfterText(fault.retryAfter);
  return toReply(fault.status, headers, body);
}

function toReply(status: number, headers: Readonly<Record<string, string>>, body: string): Reply {
  return { status, headers, body: Buffer.from(body, 'utf8') };
}

const item = z.looseObject({ url: z.string().optional(), id: z.string().optional() });
const answerSchema = z.looseObject({
  results: z.array(item).optional(),
  data: z.array(item).optional(),
  statuses: z.array(z.looseObject({ id: z.string() })).optional(),
});

/** Ways to change the results of an answer. The changed answer is still valid JSON of the right shape. */
type ResultsChange = 'shuffle' | 'repeat' | 'lose' | 'add' | 'unknown';

/**
 * Changes the `results` of an answer, or the `data` of a list. Other bodies do not change. A client that matches results by
 * position, or relies on their number, then fails.
 */
function changeResults(body: Buffer, change: ResultsChange): Buffer {
  const answer = answerSchema.safeParse(JSON.parse(body.toString('utf8'))).data;
  const items = answer?.results ?? answer?.data;
  if (!answer || !items) return body;
  const { statuses } = answer;
  const [first] = items;
  if (change === 'shuffle') {
    items.sort((left, right) => hashText(nameOf(left), 3) - hashText(nameOf(right), 3));
    statuses?.sort((left, right) => hashText(left.id, 5) - hashText(right.id, 5));
  }
  if (change === 'repeat' && first) items.push(first);
  if (change === 'lose') items.shift();
  if (change === 'add') {
    const url = 'https://nobody-asked.example/';
    items.unshift({ id: url, url, title: 'Not asked for', text: 'Nobody asked for this page.' });
    statuses?.unshift({ id: url, status: 'success', source: 'cached' });
  }
  if (change === 'unknown') {
    for (const one of items) one.novelty = { nested: [null, '', 0] };
    statuses?.push({ id: 'https://nobody-asked.example/', status: 'deferred', error: null });
    Object.assign(answer, { notices: [{ code: 'NEW' }] });
  }
  return Buffer.from(JSON.stringify(answer));
}

function nameOf({ url, id }: z.infer<typeof item>): string {
  return url ?? id ?? '';
}

/** The key of a request: `x-api-key`, or `Authorization` with the Bearer scheme. */
function keyOf(headers: IncomingHttpHeaders): string | null {
  const direct = headers['x-api-key'];
  if (typeof direct === 'string' && direct !== '') return direct;
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The x402 challenge for a request without a key. */
function challenge(path: string, baseUrl: string): Refusal {
  const terms = {
    x402Version: 2,
    resource: { url: `${baseUrl}${path}`, description: `One call of POST ${path}`, mimeType: 'application/json' },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        amount: '7000',
        asset: '0x0000000000000000000000000000000000000000',
        payTo: '0x0000000000000000000000000000000000000001',
        maxTimeoutSeconds: 60,
        extra: {},
      },
    ],
  };
  const header = Buffer.from(JSON.stringify(terms)).toString('base64');
  return new Refusal(402, 'X402_PAYMENT_REQUIRED', 'Payment is required: send an API key, or pay for this request', {
    extra: terms,
    headers: { 'payment-required': header },
  });
}

/** Checks the key. Throws the {@link Refusal} for a request without a valid key. */
function checkAccess({ headers, socket }: IncomingMessage, path: string, options: Settings): void {
  const key = keyOf(headers);
  if (key === null && options.x402 && (path === '/search' || path === '/contents')) {
    throw challenge(path, `http://127.0.0.1:${socket.localPort}`);
  }
  if (path.startsWith('/team-management/')) {
    if (key !== null && (options.serviceKey === null || key === options.serviceKey)) return;
    throw new Refusal(401, 'INVALID_API_KEY', 'The service key is not valid');
  }
  if (key !== null && (options.keys === null || options.keys.includes(key))) return;
  const tag = envelopeOf(path) === 'agent' ? 'TEAM_NOT_FOUND' : 'INVALID_API_KEY';
  throw new Refusal(401, tag, key === null ? 'The request has no API key' : 'The API key is not valid');
}

/** The parts that serve a request. */
export interface ExchangeParts {
  readonly log: RequestLog;
  readonly gate: RateGate;
  readonly script: FaultScript;
  readonly context: RouteContext;
  /** Does the work that became due since the last request. */
  readonly advance: () => void;
}

/**
 * Handles a request from its headers to its answer, in this order: log, key, rate limit, fault, body, latency, work, purchase
 * log, answer.
 */
export function createExchange(
  parts: ExchangeParts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { log, context } = parts;
  const nextRequestId = context.ids('');
  return async (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] as string;
    const entry = log.open(request.method ?? 'GET', path);
    const requestId = nextRequestId();
    const served: ServedRequest = { request, path, entry, requestId, fault: null };
    try {
      const reply = await answer(parts, served).catch((error: unknown) => refusalReply(path, requestId, error));
      log.done(entry, await deliver(response, reply, served.fault, context.timers));
    } catch {
      // The client has disconnected or its connection is broken, so no answer can be sent.
      log.done(entry, cut(response));
    }
  };
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
async function answer(parts: ExchangeParts, served: ServedRequest): Promise<Reply | null> {
  const { gate, script, context, log } = parts;
  const { options, ledger, timers } = context;
  const { request, path, entry, requestId } = served;
  const method = request.method ?? 'GET';
  const found = findRoute(method, path);
  checkAccess(request, path, options);
  const early = method === 'POST' && gate.needsBody(path) ? { input: await readJson(request) } : null;
  const key = keyOf(request.headers);
  const rated = { path, weight: found?.weight ?? 1, type: fieldOf(early?.input, 'type'), key };
  const limit = gate.admit(early ? log.now() : entry.at, rated);
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
  const { status = 200, body } = done;
  const headers: Record<string, string> = { 'content-type': jsonType, 'x-request-id': requestId };
  if (found.queued) {
    headers[`${options.headerPrefix}-queued`] = 'false';
    headers[`${options.headerPrefix}-queue-ms`] = '0';
  }
  Object.assign(headers, done.headers);
  if (typeof body === 'function') return { status, headers: { ...headers, ...streamHeaders }, body };
  return { status, headers, body: fault?.kind === 'results' ? changeResults(body, fault.change) : body };
}

const jsonType = 'application/json; charset=utf-8';
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
  const { retryAfter: form, retryAfterSeconds: seconds } = options;
  const headers: Record<string, string> = {};
  if (form !== 'none') headers['retry-after'] = form === 'seconds' ? String(seconds) : httpDateIn(seconds);
  return new Refusal(429, 'RATE_LIMIT_EXCEEDED', `You have exceeded the limit of ${limit}`, { headers });
}

/**
 * Value of the header for a fault's `retryAfter`. `date+3` becomes an HTTP-date three seconds in the future, `date-3` becomes one three
 * seconds in the past.
 */
function retryAfterText(text: string): string {
  const ahead = /^date([+-]\d+)$/.exec(text)?.[1];
  return ahead === undefined ? text : httpDateIn(Number(ahead));
}

/** An HTTP-date, rounded up to a full second. */
function httpDateIn(seconds: number): string {
  return new Date(Math.ceil((Date.now() + seconds * 1000) / 1000) * 1000).toUTCString();
}
